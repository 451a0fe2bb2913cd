"""Formulas of torch code: run it on numbers, and keep what the entries of every tensor are as expressions of sympy.

The code is run as it is, by :func:`trace`, so that no formula is typed a second time. What it does on tensors is seen
by a dispatch mode of torch; an operation that this module does not know is an error and never a guess.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attention_theory.certificates import smt
from attention_theory.certificates.algebra import Expression, sympy
from attention_theory.certificates.smt import Term
from attention_theory.validation import refuse_unless

#: A number and the expression that stands for it.
Shadowed = tuple[float, Expression]


def trace(
    function: Callable[..., Tensor], inputs: Sequence[Shadowed], numbers: Mapping[float, Expression] | None = None
) -> np.ndarray:
    """The entries of a function's value as expressions.

    Args:
        function: of scalar tensors.
        inputs: a number for each tensor, at which the code runs, and the expression that it stands for.
        numbers: what Python numbers stand for that the code computes outside of tensors, such as a logarithm.
    """
    tensors = [torch.tensor(number, dtype=torch.float64) for number, _ in inputs]
    mode = _Shadows(numbers or {})
    for tensor, (_, expression) in zip(tensors, inputs, strict=True):
        mode.keep(tensor, np.array(expression, dtype=object))
    with mode:
        value = function(*tensors)
    return mode.of(value)


def term_of(expression: Expression, variables: Mapping[str, Term]) -> Term:
    """A rational function as a term of z3. Denominators must not be 0 where it is asked about.

    Raises:
        ParameterError: another function.
    """
    if expression.is_Symbol:
        return variables[expression.name]
    if expression.is_Rational:
        return smt.z3.Q(int(expression.p), int(expression.q))
    is_power = expression.is_Pow and expression.exp.is_Integer
    refuse_unless(
        expression.is_Add or expression.is_Mul or is_power, f"expression must be a rational function, got {expression}"
    )
    parts = [term_of(part, variables) for part in expression.args if not is_power]
    if expression.is_Add:
        return smt.z3.Sum(parts)
    if expression.is_Mul:
        return smt.z3.Product(parts)
    base, power = term_of(expression.base, variables), int(expression.exp)
    product = smt.z3.Product([base] * abs(power))
    return product if power > 0 else 1 / product


class _Shadows(TorchDispatchMode):
    """Expressions of all tensors that were computed while it is active."""

    def __init__(self, numbers: Mapping[float, Expression]) -> None:
        super().__init__()
        self._numbers = numbers
        self._kept: dict[int, tuple[Tensor, np.ndarray]] = {}

    def keep(self, tensor: Tensor, expressions: np.ndarray) -> None:
        """Remember what a tensor is; the tensor stays alive, or its number could be given to another."""
        self._kept[id(tensor)] = tensor, expressions

    def of(self, value: Any) -> np.ndarray:
        """The expressions of a tensor or a number; one that was not computed from inputs is a constant."""
        if isinstance(value, Tensor):
            if id(value) in self._kept:
                return self._kept[id(value)][1]
            return np.vectorize(self._constant, otypes=[object])(value.numpy())
        return np.array(self._constant(value), dtype=object)

    def _constant(self, number: float) -> Expression:
        return self._numbers.get(float(number), sympy.Rational(float(number)))

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs, value, name = kwargs or {}, func(*args, **(kwargs or {})), func.overloadpacket.__name__
        if name in _MOVES:
            values = value if isinstance(value, (list, tuple)) else [value]
            for tensor, expressions in zip(values, self._moved(func, args, kwargs), strict=True):
                self.keep(tensor, expressions)
        elif name in _FORMULAS:
            expressions = _FORMULAS[name](*(self.of(arg) if _is_number(arg) else arg for arg in args), **kwargs)
            self.keep(value[0] if isinstance(value, tuple) else value, np.asarray(expressions, dtype=object))
        elif name not in _NUMERIC:
            raise NotImplementedError(f"torch's {name} has no formula here")
        return value

    def _moved(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[np.ndarray]:
        """The expressions of an operation that only moves entries: it is run on their numbers."""
        pool: list[Expression] = []

        def numbered(arg: Any) -> Any:
            if isinstance(arg, (list, tuple)) and any(isinstance(part, Tensor) for part in arg):
                return [numbered(part) for part in arg]
            if not isinstance(arg, Tensor):
                return arg
            entries = self.of(arg)
            start = len(pool)
            pool.extend(entries.flatten())
            return torch.arange(start, start + entries.size).reshape(entries.shape)

        moved = func(*map(numbered, args), **{key: arg for key, arg in kwargs.items() if key != "dtype"})
        flat, tensors = np.array(pool, dtype=object), moved if isinstance(moved, (list, tuple)) else [moved]
        return [np.asarray(flat[tensor.numpy()], dtype=object) for tensor in tensors]


def _is_number(value: Any) -> bool:
    return isinstance(value, (Tensor, float, int)) and not isinstance(value, bool)


def _each(function: Callable[[Expression], Expression]) -> Callable[[np.ndarray], np.ndarray]:
    return np.vectorize(function, otypes=[object])


def _log_sigmoid(x: Expression) -> Expression:
    return -sympy.log(1 + sympy.exp(-x))


def _softmax(x: np.ndarray, axis: int, half_to_float: bool) -> np.ndarray:
    powers = _each(sympy.exp)(x)
    return powers / powers.sum(axis=int(axis), keepdims=True)


#: Operations that only move entries, by their name in torch's ``aten``.
_MOVES = {"stack", "unbind", "select", "view", "expand", "detach", "alias", "clone", "_to_copy", "unsqueeze", "slice"}
#: Operations whose value is a decision of the code or a constant; it stays a number. A formula that depends on such a
#: decision holds where the decision is the same.
_NUMERIC = {"_local_scalar_dense", "eq", "full_like", "isfinite", "all"}
_FORMULAS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y, alpha=1: x + alpha * y,
    "sub": lambda x, y, alpha=1: x - alpha * y,
    "rsub": lambda x, y, alpha=1: y - alpha * x,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "pow": lambda x, y: x**y,
    "exp": _each(sympy.exp),
    "log": _each(sympy.log),
    "abs": _each(sympy.Abs),
    "max": lambda x: sympy.Max(*x.flatten()),
    "min": lambda x: sympy.Min(*x.flatten()),
    "log_sigmoid_forward": _each(_log_sigmoid),
    "sigmoid": _each(lambda x: 1 / (1 + sympy.exp(-x))),
    "_softmax": _softmax,
    "linalg_vector_norm": lambda x: sympy.sqrt(sum(entry**2 for entry in x.flatten())),
}
