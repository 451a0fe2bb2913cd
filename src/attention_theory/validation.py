"""Parameter validation: bad input is refused by name, before any work is done.

``require`` is for the range of a parameter; ``require_shape``, ``require_some`` and ``require_finite`` are for what a
tensor or a collection must be; ``refuse_unless`` is for every other condition, which is said in a sentence.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import EllipsisType
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

#: The one way to say that a formula is wanted as the paper prints it. ``correct`` is the default wherever they differ.
Form = Literal["correct", "printed"]

#: The choices of a form: ``require(form=(form, FORMS))``.
FORMS: tuple[Form, ...] = get_args(Form)


class ParameterError(ValueError):
    """A parameter is outside its range. The message names the parameter, its range and what was given."""


@dataclass(frozen=True)
class Each:
    """A parameter that is a list or a tensor, for a rule that each of its values has to satisfy."""

    values: Any


def require(**rules: tuple[Any, ...]) -> None:
    """Check named parameters against their ranges, all at once.

    Each rule is ``name=(value, least, most)``, where either end may be ``None``, or ``name=(value, choices)`` with
    a collection of allowed values (a ``range`` for multiples). Integer ends require a whole number, float ends for a
    finite number; ``True`` is no number. A parameter that is a list is wrapped, ``name=(Each(values), least, most)``:
    it must hold at least one value, and every value satisfies the rule. A symbolic size of a traced graph passes.

        require(heads=(heads, 1, None), dropout=(dropout, 0.0, 1.0), law=(law, {"gaussian", "uniform"}))
        require(sizes=(Each(sizes), 1, None))

    Raises:
        ParameterError: one line for each bad parameter.
    """
    faults = [fault for name, rule in rules.items() for fault in _faults(name, rule)]
    if faults:
        raise ParameterError("\n".join(faults))


def require_shape(**rules: tuple[Tensor, Sequence[int | EllipsisType | None]]) -> None:
    """Check the shapes of named tensors: ``tokens=(tokens, (..., None, width))``.

    ``None`` is an axis of any length; ``...``, in front, is any number of axes.

    Raises:
        ParameterError: one line for each tensor of another shape.
    """
    faults = []
    for name, (tensor, wanted) in rules.items():
        sizes = [size for size in wanted if not isinstance(size, EllipsisType)]
        shape = list(tensor.shape[tensor.ndim - len(sizes) :] if len(sizes) < len(wanted) else tensor.shape)
        # Sizes are compared with != alone: under a compiler they are symbols, which no tuple can be searched for.
        if len(shape) != len(sizes) or any(
            size is not None and size != given for size, given in zip(sizes, shape, strict=True)
        ):
            words = ["..." if size is ... else "*" if size is None else str(size) for size in wanted]
            faults.append(f"{name} must have shape [{', '.join(words)}], got {list(tensor.shape)}")
    if faults:
        raise ParameterError("\n".join(faults))


def require_some(**collections: Collection[Any] | Tensor) -> None:
    """Check that named collections and tensors hold at least one value.

    Raises:
        ParameterError: one line for each that is empty.
    """
    faults = []
    for name, values in collections.items():
        if isinstance(values, Tensor) and values.numel() == 0:
            faults.append(f"{name} must hold at least one value, got a tensor of shape {list(values.shape)}")
        elif not isinstance(values, Tensor) and len(values) == 0:
            faults.append(f"{name} must hold at least one value, got {values!r}")
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


def refuse_unless(condition: bool, message: str) -> None:
    """Check a condition between parameters. The message names them, what is allowed and what was given.

    Raises:
        ParameterError: the message, if the condition is false.
    """
    if not condition:
        raise ParameterError(message)


def _faults(name: str, rule: tuple[Any, ...]) -> list[str]:
    value, *limits = rule
    if isinstance(value, Each):
        values = value.values
        if isinstance(values, Tensor) and values.numel():
            values = [values.min().item(), values.max().item()]
        if isinstance(values, str) or not isinstance(values, Iterable):
            return [f"{name} must be a list, each {_allowed(limits)}, got {values!r}"]
        rules = [(item, *limits) for item in values]
        return [fault for item in rules for fault in _faults(f"each of {name}", item)] or (
            [] if rules else [f"{name} must hold at least one value, got {values!r}"]
        )
    if isinstance(value, torch.SymInt | torch.SymFloat):
        return []
    if isinstance(value, Tensor | np.ndarray) and value.ndim == 0:
        value = value.item()
    right = _is_among(value, limits[0]) if len(limits) == 1 else _is_within(value, *limits)
    return [] if right else [f"{name} must be {_allowed(limits)}, got {value!r}"]


def _is_among(value: Any, choices: Collection[Any]) -> bool:
    if isinstance(choices, range):
        return _is_kind(value, Integral) and value in choices
    return any(_is_kind(value, _kind(choice)) and bool(value == choice) for choice in choices)


def _is_within(value: Any, least: Any, most: Any) -> bool:
    kind = _kind(most if least is None else least)
    if not _is_kind(value, kind) or (kind is Real and not math.isfinite(value)):
        return False
    # An end that is no number is another parameter, whose fault is told under its name.
    above = not isinstance(least, Real) or value >= least
    return above and (not isinstance(most, Real) or value <= most)


def _kind(limit: Any) -> type:
    """The kind of value that an end or a choice requires: a whole number counts as a real one, ``True`` as neither."""
    kinds = (kind for kind in (bool, Integral, Real) if isinstance(limit, kind))
    return next(kinds, object)


def _is_kind(value: Any, kind: type) -> bool:
    is_truth = isinstance(value, bool | np.bool_)
    return is_truth if kind is bool else isinstance(value, kind) and not (is_truth and kind is not object)


def _allowed(limits: Sequence[Any]) -> str:
    """A range in words: ``one of 'a', 'b'``, ``a whole number from 1 to 5``, ``a number, at least 0.5``."""
    if len(limits) == 1:
        return _choices(limits[0])
    least, most = limits
    noun = "a whole number" if _kind(most if least is None else least) is Integral else "a number"
    if least is not None and most is not None:
        return f"{noun} from {least} to {most}"
    return f"{noun}, at least {least}" if most is None else f"{noun}, at most {most}"


def _choices(choices: Collection[Any]) -> str:
    if isinstance(choices, range) and len(choices) > 4:
        return f"one of {choices[0]}, {choices[1]}, ..., {choices[-1]}"
    ordered = choices if isinstance(choices, list | tuple | range) else sorted(choices, key=repr)
    return "one of " + ", ".join(repr(choice) for choice in ordered)
