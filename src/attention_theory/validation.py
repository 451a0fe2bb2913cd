"""Refusing bad input by name, before any work is done."""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, Literal, get_args

import torch
from torch import Tensor

#: The one way to say that a formula is wanted as the paper prints it. ``correct`` is the default wherever they differ.
Form = Literal["correct", "printed"]

#: The choices of a form: ``require(form=(form, FORMS))``.
FORMS: tuple[Form, ...] = get_args(Form)


class ParameterError(ValueError):
    """A parameter is outside its range. The message names the parameter, its range and what was given."""


def require(**rules: tuple[Any, ...]) -> None:
    """Check named parameters against their ranges, all at once.

    Each rule is ``name=(value, least, most)``, where either end may be ``None``, or ``name=(value, choices)`` with
    a collection of allowed values (a ``range`` for multiples). Integer ends ask for an integer, float ends for a
    real number; a list or tuple of values is checked value by value.

        require(heads=(heads, 1, None), dropout=(dropout, 0.0, 1.0), law=(law, {"gaussian", "uniform"}))

    Raises:
        ParameterError: one line for each bad parameter.
    """
    faults = [fault for name, rule in rules.items() for fault in _faults(name, rule)]
    if faults:
        raise ParameterError("\n".join(faults))


def require_finite(**tensors: Tensor) -> None:
    """Check that named tensors hold neither NaN nor an infinity. It reads the values, and so waits for the device.

    Raises:
        ParameterError: one line for each tensor that does.
    """
    bad = {name: int((~torch.isfinite(tensor)).sum()) for name, tensor in tensors.items()}
    faults = [
        f"{name} must be finite, {count} of {tensors[name].numel()} are not" for name, count in bad.items() if count
    ]
    if faults:
        raise ParameterError("\n".join(faults))


def _faults(name: str, rule: tuple[Any, ...]) -> list[str]:
    value, *limits = rule
    if isinstance(value, list | tuple):
        if not value:
            return [f"{name} must hold at least one value, got {value!r}"]
        return [fault for one in value for fault in _faults(f"each of {name}", (one, *limits))]
    if len(limits) == 1:
        return [] if value in limits[0] else [f"{name} must be {_choices(limits[0])}, got {value!r}"]
    least, most = limits
    whole = isinstance(least if least is not None else most, Integral)
    kind_is_right = not isinstance(value, bool) and isinstance(value, Integral if whole else Real)
    within = kind_is_right and (least is None or value >= least) and (most is None or value <= most)
    return [] if within else [f"{name} must be {_range(least, most, whole)}, got {value!r}"]


def _choices(choices: Collection[Any]) -> str:
    if isinstance(choices, range) and len(choices) > 4:
        return f"one of {choices[0]}, {choices[1]}, ..., {choices[-1]}"
    ordered = choices if isinstance(choices, list | tuple | range) else sorted(choices, key=repr)
    return "one of " + ", ".join(repr(choice) for choice in ordered)


def _range(least: Any, most: Any, whole: bool) -> str:
    noun = "an integer" if whole else "a number"
    if least is not None and most is not None:
        return f"{noun} from {least} to {most}"
    return f"{noun}, at least {least}" if most is None else f"{noun}, at most {most}"
