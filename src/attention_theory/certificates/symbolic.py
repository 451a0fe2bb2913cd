"""Torch code run on expressions: what a layer or a formula gives, in all that enters it, and identities of that.

A :class:`Terms` is a tensor for the code that it is passed to. Its entries are polynomials of sympy or terms of z3,
which code may only move, add and multiply, so that a result is the code's own for all real values of the variables. Or
they are expressions of sympy that stand for numbers: by :func:`trace` the code runs on both, uses more functions, and
decides by the numbers. An operation that is not known here is refused and never guessed.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

from attention_theory.certificates.certificate import (
    LIMIT,
    Answer,
    Counterexample,
    Found,
    decided,
    name_of,
    needs,
    within_limit,
)
from attention_theory.validation import refuse_unless

with needs("sympy"):
    import sympy
    from sympy.polys.rings import ring

#: A polynomial, an expression, a term of z3, or a number.
Entry = Any


class Terms(Tensor):
    """A tensor with such entries.

    Attributes:
        entries: an array of them.
        numbers: that they stand for, if they do.
        named: what other numbers stand for that the code computes outside of tensors.
    """

    entries: np.ndarray
    numbers: Tensor | None
    named: Mapping[float, Entry]
    __torch_function__: Any = torch._C._disabled_torch_function_impl

    @staticmethod
    def of(entries: Any, numbers: Tensor | None = None, named: Mapping[float, Entry] | None = None) -> "Terms":
        """From an array or a tensor; floats become the fractions that they are."""
        array = np.asarray(_entries(entries), dtype=object)
        terms: Terms = Tensor._make_wrapper_subclass(Terms, array.shape, dtype=torch.float64)
        terms.entries, terms.numbers, terms.named = array, numbers, named or {}
        return terms

    def __setitem__(self, place: Any, value: Any) -> None:
        """Put entries in place, as code does that fills an empty tensor."""
        self.entries[place] = _entries(value, self.named)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        name, keywords = func.overloadpacket.__name__, kwargs or {}
        if name in _COMPARISONS:
            return torch.from_numpy(np.array(_COMPARISONS[name](*map(_constants, args)), dtype=bool))
        terms = [leaf for leaf in tree_leaves(args) if isinstance(leaf, Terms)]
        traced, named = all(term.numbers is not None for term in terms), terms[0].named
        refuse_unless(
            name in _MOVES or name in _SUMS or (traced and (name in _FUNCTIONS or name in _DECISIONS)),
            f"code must move, add and multiply entries only, got {name}",
        )
        numbers = func(*tree_map_only(Terms, lambda term: term.numbers, args), **keywords) if traced else None
        if name in _DECISIONS:
            return numbers
        if name == "index_put_":
            args[0].entries = _moved(func, args, named)
            return args[0]
        if name in _MOVES:
            moved = _moved(func, args, named)
            given = numbers if traced else tree_map(lambda _: None, moved)
            return tree_map(lambda entries, number: Terms.of(entries, number, named), moved, given)
        formula = _SUMS[name] if name in _SUMS else _FUNCTIONS[name]
        made = formula(*(_entries(arg, named) for arg in args), **keywords)
        first, *rest = numbers if isinstance(numbers, tuple) else (numbers,)
        result = Terms.of(made, first, named)
        return (result, *rest) if rest else result


def variables(**shapes: int | Sequence[int]) -> dict[str, Terms]:
    """Tensors of independent variables, by name and shape; all are in one ring of polynomials over the rationals."""
    sizes = {name: (shape,) if isinstance(shape, int) else tuple(shape) for name, shape in shapes.items()}
    names = ["_".join(map(str, (name, *place))) for name, shape in sizes.items() for place in np.ndindex(*shape)]
    generators: Iterator[Entry] = iter(ring(names, sympy.QQ)[1:])
    return {name: Terms.of(_filled(shape, generators)) for name, shape in sizes.items()}


def trace(
    function: Callable[..., Tensor], inputs: Sequence[tuple[float, Entry]], named: Mapping[float, Entry] | None = None
) -> np.ndarray:
    """The entries of a function's value as expressions of sympy.

    A formula that depends on a decision of the code holds where the decision is the same.

    Args:
        function: of scalar tensors.
        inputs: a number for each tensor, at which the code runs, and the expression that it stands for.
        named: what Python numbers stand for that the code computes outside of tensors, such as a logarithm.
    """
    tensors = [Terms.of(entry, torch.tensor(number, dtype=torch.float64), named) for number, entry in inputs]
    return entries(function(*tensors))


def derivative(output: Tensor, by: Tensor) -> Terms:
    """The gradient in variables of an output with one entry."""
    (expression,) = entries(output).flat
    shape = entries(by).shape
    return Terms.of(_filled(shape, (expression.diff(variable) for variable in entries(by).flat)))


def entries(tensor: Tensor) -> np.ndarray:
    """The polynomials of a tensor, or its numbers as fractions, as an array."""
    array: np.ndarray = _entries(tensor)
    return array


def equal(left: Tensor, right: Tensor, words: str, seconds: float = LIMIT) -> Answer:
    """Decide whether two tensors of polynomials are equal, entry by entry, for all values of their variables.

    A counterexample has small whole numbers.
    """
    pairs = list(zip(_entries(left).reshape(-1), _entries(right).reshape(-1), strict=True))
    listed = "\n".join(f"{one} = {other}" for one, other in pairs)
    question = f"{words}\n{len(pairs)} identities of polynomials\n{listed}"

    def settle() -> Found:
        wrong = next((one - other for one, other in pairs if one - other != 0), None)
        point = None if wrong is None else _nonzero(wrong)
        return decided(point), point

    return within_limit(settle, question, name_of("sympy"), seconds)


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


def _entries(value: Any, named: Mapping[float, Entry] | None = None) -> Any:
    """The entries of a tensor as an array, exactly; all else as it is, and so the members of a list."""
    if isinstance(value, Terms):
        return value.entries
    if isinstance(value, list | tuple):
        return [_entries(member, named) for member in value]
    if isinstance(value, Tensor):
        return _filled(value.shape, (_number(number, named or {}) for number in value.flatten().tolist()))
    return _number(value, named or {}) if isinstance(value, float) else value


def _constants(value: Any) -> Any:
    """Numbers to compare: the numbers that a tensor stands for, or entries, which must be constants."""
    if not isinstance(value, Terms):
        return value
    if value.numbers is not None:
        return value.numbers.numpy()
    varies = any(getattr(entry, "is_ground", True) is False for entry in value.entries.flat)
    refuse_unless(not varies, "code must not compare entries that vary")
    return _each(lambda entry: Fraction(str(getattr(entry, "LC", entry))))(value.entries)


def _number(number: float, named: Mapping[float, Entry]) -> Entry:
    exact = Fraction(number)
    whole = exact.denominator == 1
    return named.get(number, exact.numerator if whole else sympy.QQ(exact.numerator, exact.denominator))


def _moved(func: Any, args: Any, named: Mapping[float, Entry]) -> Any:
    """The entries that an operation gives which only moves them: it is run on their numbers in a list."""
    pool: list[Entry] = []

    def numbered(arg: Tensor) -> Tensor:
        if not arg.is_floating_point():
            return arg  # positions from which to take
        entries, start = _entries(arg, named), len(pool)
        pool.extend(entries.flat)
        return torch.arange(start, len(pool)).reshape(entries.shape)

    places = func(*tree_map_only(Tensor, numbered, args))
    return tree_map(lambda place: _filled(place.shape, (pool[number] for number in place.flatten().tolist())), places)


def _sum(entries: np.ndarray, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return entries.sum(axis=tuple(dim) if dim else None, keepdims=keepdim)


def _mean(entries: np.ndarray, dim: Any = None, keepdim: bool = False) -> Any:
    total = _sum(entries, dim, keepdim)
    return total * sympy.QQ(np.size(total), entries.size)


def _norm(x: np.ndarray, order: float = 2, dim: Any = None) -> Any:
    refuse_unless(order == 2, f"code must take norms of order 2, got {order}")
    return _each(sympy.sqrt)(_sum(x * x, dim))


def _softmax(x: np.ndarray, axis: int, half_to_float: bool) -> np.ndarray:
    powers = _each(sympy.exp)(x)
    return powers / powers.sum(axis=axis, keepdims=True)


def _logsumexp(x: np.ndarray, dim: Sequence[int], keepdim: bool = False) -> Any:
    return _each(sympy.log)(_each(sympy.exp)(x).sum(axis=tuple(dim), keepdims=keepdim))


def _each(function: Callable[[Entry], Entry]) -> Callable[[np.ndarray], np.ndarray]:
    return np.vectorize(function, otypes=[object])


#: Operations by their names in torch's ``aten``. These only move entries.
_MOVES = {
    "t", "transpose", "permute", "unsqueeze", "squeeze", "view", "_unsafe_view", "expand", "select", "slice", "index",
    "gather", "unbind", "clone", "detach", "alias", "stack", "cat", "where",
    "index_put_",
}  # fmt: skip
_SUMS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y, alpha=1: x + alpha * y,
    "sub": lambda x, y, alpha=1: x - alpha * y,
    "rsub": lambda x, y, alpha=1: y - alpha * x,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x * (sympy.QQ(1) / y),
    "neg": lambda x: -x,
    "pow": lambda x, y: x * x if y == 2 else x**y,
    **dict.fromkeys(("mm", "mv", "dot", "bmm"), lambda x, y: x @ y),
    "new_zeros": lambda _, size, **__: np.full(size, 0, dtype=object),
    "sum": _sum,
    "mean": _mean,
    "cumsum": lambda entries, dim: entries.cumsum(axis=dim),
}
#: Functions of expressions.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": _each(sympy.exp),
    "log": _each(sympy.log),
    "logsumexp": _logsumexp,
    "abs": _each(sympy.Abs),
    "max": lambda x: sympy.Max(*x.flat),
    "min": lambda x: sympy.Min(*x.flat),
    "log_sigmoid_forward": _each(lambda x: -sympy.log(1 + sympy.exp(-x))),
    "sigmoid": _each(lambda x: 1 / (1 + sympy.exp(-x))),
    "_softmax": _softmax,
    "linalg_vector_norm": _norm,
}
#: Comparisons, which make truth values of numbers.
_COMPARISONS = {"le": operator.le}
#: Operations whose value is a decision of the code, or a constant: they stay numbers.
_DECISIONS = {"_local_scalar_dense", "argmax", "eq", "full_like", "ones_like"}
