"""The literal layers in decimal arithmetic of many digits: what float64 rounds away stays visible.

Slow: for states of some dozen columns. Only the units and heads as declared are known here, no matrices.
"""

from collections.abc import Sequence
from copy import copy
from decimal import Context, Decimal, localcontext

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.machine.layers import Head, Layer
from attention_theory.rows import Combination
from attention_theory.validation import refuse_unless, require

#: A column of a state: its entries that are not zero, by row. Most are zero.
_Column = dict[int, Decimal]

_ZERO = Decimal(0)


class DecimalState:
    """A state as decimals, exactly.

    Args:
        state: in float64.
    """

    def __init__(self, state: Float[Tensor, "columns rows"]) -> None:
        self.rows = state.shape[1]
        self.columns = [{row: Decimal(value) for row, value in enumerate(column) if value} for column in state.tolist()]

    def after(self, layers: Sequence[Layer], inverse_temperature: Decimal, digits: int = 60) -> "DecimalState":
        """The state after some layers, eqs. (1a) and (1b), in decimal floating point of ``digits`` digits.

        Raises:
            ParameterError: digits below 16, or an inverse temperature below 0.
        """
        require(digits=(digits, 16, 1000))
        refuse_unless(inverse_temperature >= 0, f"inverse_temperature must be at least 0, got {inverse_temperature}")
        result = copy(self)
        with localcontext(Context(prec=digits)):
            for layer in layers:
                result.columns = _feed_forward(layer, _attend(layer.heads, result.columns, inverse_temperature))
        return result

    def nearest(self) -> Float[Tensor, "columns rows"]:
        """The nearest state in float64."""
        entries = [[float(column.get(row, _ZERO)) for row in range(self.rows)] for column in self.columns]
        return torch.tensor(entries, dtype=torch.float64, device="cpu")

    def distance(self, state: Float[Tensor, "columns rows"]) -> float:
        """The largest distance of an entry from that of a state, taken before anything is rounded."""
        return max(
            float(abs(column.get(row, _ZERO) - Decimal(value)))
            for column, values in zip(self.columns, state.tolist(), strict=True)
            for row, value in enumerate(values)
        )


def _attend(heads: Sequence[Head], state: Sequence[_Column], inverse_temperature: Decimal) -> list[_Column]:
    result = [dict(column) for column in state]
    for head in heads:
        keys = [_all_of(head.keys, column) for column in state]
        queries = [_all_of(head.queries, column) for column in state]
        values = [[(_of(combination, column), target) for combination, target in head.values] for column in state]
        for column, query in zip(result, queries, strict=True):
            scores = [sum((a * b for a, b in zip(key, query, strict=True)), _ZERO) for key in keys]
            best = max(scores)
            weights = [(inverse_temperature * (score - best)).exp() for score in scores]
            total = sum(weights, _ZERO)
            for weight, entries in zip(weights, values, strict=True):
                for value, target in entries:
                    if value:
                        column[target] = column.get(target, _ZERO) + weight / total * value
    return result


def _feed_forward(layer: Layer, state: Sequence[_Column]) -> list[_Column]:
    result = [dict(column) for column in state]
    for old, new in zip(state, result, strict=True):
        for unit in layer.units:
            hidden = _of(unit.inputs, old) + Decimal(unit.bias)
            if hidden > 0:
                _put(new, unit.outputs, hidden)
        _put(new, layer.constants, Decimal(1))
    return result


def _put(column: _Column, outputs: Combination, amount: Decimal) -> None:
    for row, weight in outputs.items():
        column[row] = column.get(row, _ZERO) + Decimal(weight) * amount


def _all_of(combinations: Sequence[Combination], column: _Column) -> list[Decimal]:
    return [_of(combination, column) for combination in combinations]


def _of(combination: Combination, column: _Column) -> Decimal:
    return sum((Decimal(weight) * column[row] for row, weight in combination.items() if row in column), _ZERO)
