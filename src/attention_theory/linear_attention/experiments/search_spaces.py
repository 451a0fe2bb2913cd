"""The search spaces of Appendices D.1 and D.2, and what the notebooks of Figure 1 take from them."""

from collections.abc import Mapping, Sequence
from typing import Any

#: Appendix D.1, for Figure 1.
FIGURE_1: Mapping[str, Sequence[Any]] = {
    "width": (2, 4, 8, 16),
    "heads": (1, 2, 4, 8, 16),
    "layers": (1, 2, 4),
    "rate": (0.01, 0.001),
    "batch": (32, 64),
    "optimizer": ("AdamW",),
}

#: Appendix D.2, for Figure 3. The list of N holds 12290, which lies between powers and multiples of 1024.
FIGURE_3: Mapping[str, Sequence[Any]] = {
    "width": (2048,),
    "heads": (16,),
    "layers": (4,),
    "rate": (0.00025,),
    "epochs": (100,),
    "examples": (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 6144, 8192, 12290, 16384, 20480, 32768, 65536),
}

#: Numbers of heads that Appendix D.1 does not list: d² of a width, and as many as have the parameters of a rival.
_SQUARE, _EQUAL = "d²", "as many as the parameters of a rival"


def _runs(
    width: Sequence[int], heads: Sequence[Any], layers: Sequence[int], batch: int, *optimizer: str
) -> Mapping[str, Any]:
    return {
        "width": width,
        "heads": heads,
        "layers": layers,
        "rate": (0.01, 0.001),
        "batch": (batch,),
        "optimizer": optimizer,
    }


#: What the notebooks of Figure 1 run, by the names of Appendix D.1; a test compares it with their parameters.
FIGURE_1_RUNS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "figure_1a_heads, laptop": _runs((2, 4), (1, 2, 4, 8, 16), (1,), 32, "Adam", "AdamW"),
    "figure_1a_heads, full size": _runs((2, 4, 8, 16), (1, 2, 4, 8, 16), (1,), 64, "Adam", "AdamW"),
    "figure_1_depth, laptop": _runs((2,), (1, _SQUARE, _EQUAL), (1, 2, 4), 32, "Adam"),
    "figure_1_depth, full size": _runs((2, 4, 8, 16), (1, _SQUARE, _EQUAL), (1, 2, 4), 32, "Adam"),
    "figure_1_samples, laptop": _runs((2, 4), (1, _SQUARE), (1, 2, 4), 32, "Adam"),
    "figure_1_samples, full size": _runs((2, 4, 8), (1, _SQUARE), (1, 2, 4), 32, "Adam"),
}


def outside(space: Mapping[str, Sequence[Any]], settings: Mapping[str, Any]) -> list[str]:
    """The names of the settings that a search space does not hold, or does not know."""
    return [name for name, value in settings.items() if value not in space.get(name, ())]
