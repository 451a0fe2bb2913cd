"""What the paper trained: the search spaces of Appendices D.1 and D.2, as the code of this package uses them."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.linear_attention.experiments.convergence import DIVERGED
from attention_theory.validation import Each, require

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
SQUARE, EQUAL = "d²", "as many as the parameters of a rival"

#: What the notebooks of Figure 1 run, by the names of Appendix D.1; a test holds it against their parameters.
FIGURE_1_RUNS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "figure_1a_heads, laptop": {
        "width": (2, 4),
        "heads": (1, 2, 4, 8, 16),
        "layers": (1,),
        "rate": (0.01, 0.001),
        "batch": (32,),
        "optimizer": ("Adam", "AdamW"),
    },
    "figure_1a_heads, full size": {
        "width": (2, 4, 8, 16),
        "heads": (1, 2, 4, 8, 16),
        "layers": (1,),
        "rate": (0.01, 0.001),
        "batch": (64,),
        "optimizer": ("Adam", "AdamW"),
    },
    "figure_1_depth, laptop": {
        "width": (2,),
        "heads": (1, SQUARE, EQUAL),
        "layers": (1, 2, 4),
        "rate": (0.01, 0.001),
        "batch": (32,),
        "optimizer": ("Adam",),
    },
    "figure_1_depth, full size": {
        "width": (2, 4, 8, 16),
        "heads": (1, SQUARE, EQUAL),
        "layers": (1, 2, 4),
        "rate": (0.01, 0.001),
        "batch": (32,),
        "optimizer": ("Adam",),
    },
    "figure_1_samples, laptop": {
        "width": (2, 4),
        "heads": (1, SQUARE),
        "layers": (1, 2, 4),
        "rate": (0.01, 0.001),
        "batch": (32,),
        "optimizer": ("Adam",),
    },
    "figure_1_samples, full size": {
        "width": (2, 4, 8),
        "heads": (1, SQUARE),
        "layers": (1, 2, 4),
        "rate": (0.01, 0.001),
        "batch": (32,),
        "optimizer": ("Adam",),
    },
}


def rounding_floor(heads: int, dtype: torch.dtype = torch.float32) -> float:
    """The relative squared error of a student that rounding alone can leave: ``(√H (H + 2) u)²``.

    A coefficient is a sum over H heads of products of two stored numbers. With the unit roundoff u it is off by up to
    ``(H + 2) u`` times the sum of their sizes, to first order: H + 2 roundings reach a product (two factors, itself,
    and H − 1 sums). Where the signs of the products are random, the sum of the sizes is about √H times that of the
    products, and this is the label.

    Args:
        heads: H.
        dtype: the arithmetic of the training.

    Raises:
        ParameterError: fewer than one head.
    """
    require(heads=(heads, 1, None))
    return heads * ((heads + 2) * torch.finfo(dtype).eps / 2) ** 2


def best_settings(
    errors: Float[Tensor, "runs kinds settings"], floors: float | Sequence[float]
) -> Int[Tensor, " kinds"]:
    """For each kind of student the setting of least error, in the geometric mean over the runs that were searched.

    Errors below the floor count as the floor, so that rounding does not choose between settings whose runs all arrive:
    they are equal, and of equals the first is taken. A setting with a run that diverged is taken only where all
    settings have one.

    Args:
        errors: those of final passes; infinite, no number, or from ``DIVERGED`` on for runs that diverged.
        floors: the least error that counts, for all kinds or for each; see :func:`rounding_floor`.

    Raises:
        ParameterError: a floor that is not positive.
    """
    least = torch.as_tensor(floors, dtype=torch.float64, device=errors.device)
    require(floors=(Each(least), torch.finfo(torch.float64).tiny, None))
    above = (errors.double().log() - least.log()[..., None]).clamp(min=0).mean(dim=0)  # 0 where all runs arrive
    diverged = ~(errors < DIVERGED).all(dim=0)
    return above.masked_fill(diverged, torch.inf).argmin(dim=-1)


def outside(space: Mapping[str, Sequence[Any]], settings: Mapping[str, Any]) -> list[str]:
    """The names of the settings that a search space does not hold, or does not know."""
    return [name for name, value in settings.items() if value not in space.get(name, ())]
