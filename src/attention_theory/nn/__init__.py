"""The papers' layers as ``torch.nn`` modules: the names that a researcher needs who does not read the book.

Shapes, masks and arguments are those of torch: ``(..., tokens, embed_dim)`` in and out, true in a mask at what is left
out. The machines (``SubleqTransformer``, ``FleqTransformer``, ``UniversalTransformer``) are compiled from programs. The
room with the mathematics of a layer is imported when the layer is first named.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_theory.hyper_attention.layers.hyper_attention import HyperAttention
    from attention_theory.hyper_attention.layers.hyper_feature_attention import HyperFeatureAttention
    from attention_theory.hyper_attention.layers.linear_sums import LinearHyperAttention
    from attention_theory.in_context_reasoning.recall import InContextRecall
    from attention_theory.linear_attention.machines.universal_transformer import UniversalTransformer
    from attention_theory.linear_attention.model.linear_attention import LinearAttention
    from attention_theory.looped_transformers.fleq.transformer import FleqTransformer
    from attention_theory.looped_transformers.subleq.transformer import SubleqTransformer
    from attention_theory.memorization.memorizing_attention import MemorizingAttention

__all__ = [
    "FleqTransformer",
    "HyperAttention",
    "HyperFeatureAttention",
    "InContextRecall",
    "LinearAttention",
    "LinearHyperAttention",
    "MemorizingAttention",
    "SubleqTransformer",
    "UniversalTransformer",
]

_ROOMS = {
    "FleqTransformer": "looped_transformers.fleq.transformer",
    "HyperAttention": "hyper_attention.layers.hyper_attention",
    "HyperFeatureAttention": "hyper_attention.layers.hyper_feature_attention",
    "InContextRecall": "in_context_reasoning.recall",
    "LinearAttention": "linear_attention.model.linear_attention",
    "LinearHyperAttention": "hyper_attention.layers.linear_sums",
    "MemorizingAttention": "memorization.memorizing_attention",
    "SubleqTransformer": "looped_transformers.subleq.transformer",
    "UniversalTransformer": "linear_attention.machines.universal_transformer",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"attention_theory.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return __all__
