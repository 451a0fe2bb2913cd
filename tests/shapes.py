"""Shapes as they are written in annotations, checked in every call that a test makes.

Only what jaxtyping annotates is checked, an array's shape and type. Whether a name or a number is allowed is for the
package itself to say, in its own words, and mypy reads the rest.
"""

from collections.abc import Callable
from typing import Any, get_args

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray

_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """The typechecker that jaxtyping's import hook applies to each function of the package."""
    function.__annotations__ = {name: kind for name, kind in function.__annotations__.items() if _has_shape(kind)}
    return _check(function) if function.__annotations__ else function


def _has_shape(kind: Any) -> bool:
    return (isinstance(kind, type) and issubclass(kind, AbstractArray)) or any(map(_has_shape, get_args(kind)))
