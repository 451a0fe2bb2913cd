"""Torch code run on polynomials: a layer's output as a polynomial in all that enters it, and identities of them.

A :class:`Terms` is a tensor for the code that it is passed to; its entries are polynomials of sympy, or terms of z3.
Entries are only moved, added and multiplied, so a result is the code's own, for all real values of the variables.
Whatever else the code does with it is refused.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_theory.certificates.certificate import Answer, Clock, Counterexample, decided, name_of, needs
from attention_theory.validation import refuse_unless

with needs("sympy"):
    import sympy
    from sympy.polys.rings import ring

#: A polynomial, a term of z3, or a number.
Entry = Any


class Terms(Tensor):
    """A tensor with such entries; as a tensor of floats it has a shape and no values."""

    entries: np.ndarray

    @staticmethod
    def of(entries: Any) -> "Terms":
        """From an array or a tensor; floats become the fractions that they are."""
        array = np.asarray(entries, dtype=object) if not isinstance(entries, Tensor) else _entries(entries)
        terms: Terms = Tensor._make_subclass(Terms, torch.empty(array.shape, dtype=torch.float64))
        terms.entries = array
        return terms

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, named = _name(func), kwargs or {}
        if name in _ATTRIBUTES:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **named)
        if name in _MOVES:
            source = args[0].entries
            with torch._C.DisableTorchFunctionSubclass():
                places = func(torch.arange(source.size).reshape(source.shape), *args[1:], **named)
            taken = [
                Terms.of(source.reshape(-1)[place.numpy()])
                for place in ([places] if isinstance(places, Tensor) else places)
            ]
            return taken[0] if isinstance(places, Tensor) else tuple(taken)
        refuse_unless(name in _SUMS, f"code must move, add and multiply entries only, got {name}")
        return Terms.of(_SUMS[name](*[_entries(arg) for arg in args], **named))


def variables(**shapes: int | Sequence[int]) -> dict[str, Terms]:
    """Tensors of independent variables, by name and shape; all are in one ring of polynomials over the rationals."""
    sizes = {name: (shape,) if isinstance(shape, int) else tuple(shape) for name, shape in shapes.items()}
    names = ["_".join(map(str, (name, *place))) for name, shape in sizes.items() for place in np.ndindex(*shape)]
    generators: Iterator[Entry] = iter(ring(names, sympy.QQ)[1:])
    return {name: Terms.of(_filled(shape, generators)) for name, shape in sizes.items()}


def derivative(output: Tensor, by: Tensor) -> Terms:
    """The gradient in variables of an output with one entry."""
    (expression,) = entries(output).flat
    shape = entries(by).shape
    return Terms.of(_filled(shape, (expression.diff(variable) for variable in entries(by).flat)))


def entries(tensor: Tensor) -> np.ndarray:
    """The polynomials of a tensor, or its numbers as fractions, as an array."""
    array: np.ndarray = _entries(tensor)
    return array


def equal(left: Tensor, right: Tensor, words: str) -> Answer:
    """Whether two tensors of polynomials are equal, entry by entry, for all values of their variables.

    A counterexample has small whole numbers.
    """
    clock = Clock()
    pairs = list(zip(_entries(left).reshape(-1), _entries(right).reshape(-1), strict=True))
    wrong = next((one - other for one, other in pairs if one - other != 0), None)
    shown = sorted((f"{one} = {other}" for one, other in pairs), key=len)[len(pairs) // 2]
    question = f"{words}\n{len(pairs)} identities of polynomials, among them\n{shown[:2000]}"
    point = None if wrong is None else _nonzero(wrong)
    return Answer(question, decided(point), name_of("sympy"), clock.seconds, point)


def _nonzero(polynomial: Entry) -> Counterexample:
    """Small whole numbers at which a polynomial is not 0, by fixing one variable after the other."""
    if not hasattr(polynomial, "ring"):
        return {"difference of the sides": polynomial}
    point: dict[str, int] = {}
    for variable in polynomial.ring.gens:
        value = next(value for value in range(1, 100) if polynomial.subs(variable, value) != 0)
        polynomial = polynomial.subs(variable, value)
        point[str(variable)] = value
    return point


def at(point: Counterexample, **shapes: int | Sequence[int]) -> dict[str, Tensor]:
    """The tensors of floats that variables of these shapes are at a counterexample."""
    return {
        name: torch.tensor(
            [float(point.get("_".join(map(str, (name, *place))), 0)) for place in np.ndindex(*sizes)],
            dtype=torch.float64,
        ).reshape(sizes)
        for name, shape in shapes.items()
        for sizes in [(shape,) if isinstance(shape, int) else tuple(shape)]
    }


def _filled(shape: Sequence[int], entries: Iterator[Entry]) -> np.ndarray:
    array = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        array[place] = next(entries)
    return array


def _entries(value: Any) -> Any:
    """The entries of a tensor as an array, exactly; all else as it is, and so the members of a list."""
    if isinstance(value, Terms):
        return value.entries
    if isinstance(value, list | tuple):
        return [_entries(member) for member in value] if any(isinstance(m, Tensor) for m in value) else value
    if isinstance(value, Tensor):
        return _filled(value.shape, (_number(number) for number in value.flatten().tolist()))
    return _number(value) if isinstance(value, float) else value


def _number(number: float) -> Entry:
    exact = Fraction(number)
    return exact.numerator if exact.denominator == 1 else sympy.QQ(exact.numerator, exact.denominator)


def _name(func: Any) -> str:
    """The name of a function of torch; that of an attribute for what reads it."""
    name = str(func.__name__)
    return str(func.__self__.__name__) if name == "__get__" else name.strip("_")


def _sum(entries: np.ndarray, dim: Any = None) -> Any:
    return entries.sum(axis=dim)


def _mean(entries: np.ndarray, dim: Any = None) -> Any:
    total, count = entries.sum(axis=dim), entries.size if dim is None else entries.shape[dim]
    return total * sympy.QQ(1, count)


def _einsum(equation: str, *operands: Any) -> np.ndarray:
    arrays = operands[0] if len(operands) == 1 and isinstance(operands[0], list) else operands
    return np.einsum(equation, *arrays)


_ATTRIBUTES = {"shape", "ndim", "dtype", "device", "dim", "size", "numel", "len", "is_floating_point", "layout"}
_MOVES = {
    "mT", "T", "transpose", "swapaxes", "movedim", "unsqueeze", "squeeze", "flatten", "unflatten", "reshape", "getitem",
    "diagonal", "expand", "gather", "unbind", "repeat", "repeat_interleave", "contiguous",
}  # fmt: skip
_SUMS: dict[str, Callable[..., Any]] = {
    "add": lambda one, other: one + other,
    "radd": lambda one, other: other + one,
    "sub": lambda one, other: one - other,
    "rsub": lambda one, other: other - one,
    "mul": lambda one, other: one * other,
    "rmul": lambda one, other: other * one,
    "div": lambda one, other: one * sympy.QQ(1, other),
    "truediv": lambda one, other: one * sympy.QQ(1, other),
    "neg": lambda one: -one,
    "matmul": lambda one, other: one @ other,
    "rmatmul": lambda one, other: other @ one,
    "square": lambda one: one * one,
    "sum": _sum,
    "mean": _mean,
    "cumsum": lambda entries, dim: entries.cumsum(axis=dim),
    "stack": lambda members, dim=0: np.stack(members, axis=dim),
    "cat": lambda members, dim=0: np.concatenate(members, axis=dim),
    "einsum": _einsum,
}
