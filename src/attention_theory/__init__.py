"""Attention theory in running form: a small core and one subpackage for each of five papers.

Conventions, everywhere: tokens are rows and batch dimensions lead, ``(..., tokens, features)``; theory runs in
float64; tensors in, tensors out, on the device and of the type of the input; a function that draws takes a seed or a
``torch.Generator``; ``form="printed"`` gives a formula as the paper prints it where that is wrong. The layers are in
:mod:`attention_theory.nn`; import what is not named here from the module that holds it, e.g. ``from
attention_theory.linear_attention.model.mhla import mhla``. A paper is imported when a name of it is first used.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_theory import nn
    from attention_theory.linear_attention.learning.certificate import certificate
    from attention_theory.linear_attention.learning.regression import fit_linear_attention
    from attention_theory.looped_transformers.compiler.program import compile
    from attention_theory.memorization.attention import capacity
    from attention_theory.memorization.memorizing_attention import memorize

    __version__: str

__all__ = ["__version__", "capacity", "certificate", "compile", "fit_linear_attention", "memorize", "nn"]

_ROOMS = {
    "capacity": "memorization.attention",
    "compile": "looped_transformers.compiler.program",
    "certificate": "linear_attention.learning.certificate",
    "fit_linear_attention": "linear_attention.learning.regression",
    "memorize": "memorization.memorizing_attention",
}


def __getattr__(name: str) -> Any:
    if name == "nn":
        return import_module("attention_theory.nn")
    if name == "__version__":
        return version("attention-theory-executed")
    if name in _ROOMS:
        return getattr(import_module(f"attention_theory.{_ROOMS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
