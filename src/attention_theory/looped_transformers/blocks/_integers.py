"""Arithmetic of integers of N bits as function blocks, exactly: sums, products, divisions and comparisons.

The paper's blocks approximate (Lemma 14, Theorem 4). On integers ReLU units need not: ``relu(x) - relu(x - 1)`` is 1
where x is at least 1 and else 0. A product then goes through the bits of its second operand, a division through those
of its first, one layer for each bit. The numbers are first entries, and so is the result.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.blocks.base import CLOSED, BlockSetting, FunctionBlock
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Combination, Rows, combine
from attention_theory.validation import require

#: What each block computes before it wraps around, of integers or of tensors of them. That of a comparison is at most 0
#: where the relation holds.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "le": operator.sub,
    "lt": lambda a, b: a - b + 1,
    "eq": lambda a, b: abs(a - b),
    "ne": lambda a, b: 1 - abs(a - b),
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "digit": lambda a, b: a // b % 2,
}
_COMPARISONS, _DIVISIONS = ("le", "lt", "eq", "ne"), ("floordiv", "mod", "digit")


def integer_blocks(bits: int) -> list[FunctionBlock]:
    """One block for each of :data:`FUNCTIONS`, for integers in two's complement.

    Args:
        bits: N. Intermediate values have twice as many bits, which float64 keeps.

    Raises:
        ParameterError: bits outside 2 to 20.
    """
    require(bits=(bits, 2, 20))
    kinds = dict.fromkeys(FUNCTIONS, _Sum) | {"mul": _Product} | dict.fromkeys(_DIVISIONS, _Division)
    return [kind(name, bits) for name, kind in kinds.items()]


def integer_function(name: str, bits: int) -> Callable[[Any, Any], Any]:
    """The function that a block computes, of integers or of tensors of them."""
    function, half = FUNCTIONS[name], 2 ** (bits - 1)
    return function if name in _COMPARISONS else lambda a, b: (function(a, b) + half) % (2 * half) - half


class _Units:
    """ReLU units of one layer in the column of the result, where the row ``here`` is 1; elsewhere all rows are 0.

    Combinations are of rows by name; a multiple of ``here`` is a constant.
    """

    def __init__(self, layer: Layer, rows: dict[str, int], bits: int, gated: bool) -> None:
        self.layer, self.rows, self.half = layer, rows, 2.0 ** (bits - 1)
        self.large = 4 * self.half  # above every number that a gate closes
        self.gated = gated

    def relu(self, inputs: dict[str, float], **outputs: float) -> None:
        """Add the positive part of the inputs to the outputs."""
        sums: Combination = {self.rows[name]: weight for name, weight in inputs.items()}
        if self.gated:  # other columns hold means of whatever is there
            sums[self.rows["here"]] = sums.get(self.rows["here"], 0.0) + self.large
        bias = -self.large if self.gated else 0.0
        self.layer.unit("integers", sums, {self.rows[name]: weight for name, weight in outputs.items()}, bias)

    def linear(self, inputs: dict[str, float], **outputs: float) -> None:
        """Add the inputs to the outputs."""
        for sign in (1.0, -1.0):
            self.relu(_times(inputs, sign), **_times(outputs, sign))

    def step(self, inputs: dict[str, float], **outputs: float) -> None:
        """Add the outputs where the inputs, an integer, are at least 1."""
        self.relu(inputs, **outputs)
        self.relu(_plus(inputs, here=-1), **_times(outputs, -1))

    def wrapped(self, inputs: dict[str, float], target: str, weight: float = 1.0) -> None:
        """Add the inputs modulo 2^N in two's complement; they are within three times its range."""
        self.linear(inputs, **{target: weight})
        self.step(_plus(inputs, here=1 - self.half), **{target: -2 * weight * self.half})
        self.step(_plus(_times(inputs, -1), here=-self.half), **{target: 2 * weight * self.half})

    def where_negative(self, inputs: dict[str, float], test: str, **outputs: float) -> None:
        """Add the inputs, from 0 to 2^N, where the integer ``test`` is below 0: the least of them and a multiple."""
        self.relu({test: -self.large}, **outputs)
        self.relu(_times(inputs, -1) | {test: -self.large}, **_times(outputs, -1))

    def clear(self, *names: str) -> None:
        """Take what is in the rows away."""
        self.layer.clear([self.rows[name] for name in names])


def _times(one: dict[str, float], factor: float) -> dict[str, float]:
    return {name: factor * weight for name, weight in one.items()}


def _plus(one: dict[str, float], **other: float) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


class _IntegerBlock(FunctionBlock):
    """A function of two integers: a layer that sets B apart, one that brings both to the result, and units.

    Attributes:
        bits: N.
        own: the rows that the units work in.
    """

    own: Sequence[str] = ()

    def __init__(self, name: str, bits: int) -> None:
        self.name, self.bits = name, bits

    def sizes(self, setting: BlockSetting) -> dict[str, int]:
        return {f"{self.name} {row}": 1 for row in ("here", "second", "x", "y", *self.own)}

    def fill(self, state: Float[Tensor, "... columns rows"], rows: Rows, setting: BlockSetting) -> None:
        rows.view(state, f"{self.name} here")[..., 2 * setting.size, :] = 1

    def declare(self, layer: Layer, stage: int, setting: BlockSetting) -> None:
        rows, data = layer.rows, layer.rows[self.name][0]
        named = {row: rows[f"{self.name} {row}"][0] for row in ("here", "second", "x", "y", *self.own)}
        units = _Units(layer, named | {"result": data}, self.bits, gated=stage == 1)
        if stage == 0:
            for target, gain in ((named["second"], 1.0), (data, -1.0)):
                layer.gated_move(data, target, {rows["not b"][0]: CLOSED}, gain=gain)
        elif stage == 1:
            keys = combine(rows["in a"], rows["in b"], weights=[2.0, 2.0])  # so sharp that the mean of two is exact
            values: list[tuple[Combination, int]] = [({data: 2.0}, named["x"]), ({named["second"]: 2.0}, named["y"])]
            layer.head(f"{self.name} both", keys, combine(rows["in out"]), values)
            self._begin(units)
            units.clear("second", "x", "y")
        else:
            self._go_on(units, stage - 2)

    def _begin(self, units: _Units) -> None:
        """Take the operands from the rows x and y."""
        units.linear({"x": 1}, a=1)
        units.linear({"y": 1}, b=1)

    def _go_on(self, units: _Units, stage: int) -> None:
        """Declare the units of a later layer, from 0."""

    def reference(self, a: Float[Tensor, "... d d"], b: Float[Tensor, "... d d"]) -> Float[Tensor, "... d d"]:
        out = torch.zeros_like(a)
        out[..., 0, 0] = integer_function(self.name, self.bits)(a[..., 0, 0], b[..., 0, 0])
        return out


class _Sum(_IntegerBlock):
    """A sum, a difference or a comparison, in two layers. A comparison does not wrap around."""

    depth = 2

    def _begin(self, units: _Units) -> None:
        difference: dict[str, float] = {"x": 1, "y": -1}
        match self.name:
            case "add":
                units.wrapped({"x": 1, "y": 1}, "result")
            case "sub":
                units.wrapped(difference, "result")
            case "le" | "lt":
                units.linear(_plus(difference, here=float(self.name == "lt")), result=1)
            case _:
                sign = 1.0 if self.name == "eq" else -1.0
                for side in (1.0, -1.0):
                    units.relu(_times(difference, side), result=sign)
                units.relu({"here": float(self.name == "ne")}, result=1)


class _Product(_IntegerBlock):
    """A product modulo 2^N in N + 3 layers: from the highest bit of b on, double, and add a where the bit is on."""

    own = ("a", "b", "product")

    @property
    def depth(self) -> int:  # type: ignore[override]
        return self.bits + 3

    def _go_on(self, units: _Units, stage: int) -> None:
        if stage == self.bits:
            units.wrapped({"product": 1}, "result")
            units.clear(*self.own)
            return
        units.clear("product", "b")
        units.wrapped({"product": 1}, "product", 2)
        units.where_negative({"a": 1, "here": units.half}, "b", product=1)  # a + 2^(N-1), which is not negative
        units.step({"b": -1}, product=-units.half)
        units.wrapped({"b": 2}, "b")


class _Division(_IntegerBlock):
    """Floor division: the quotient, the remainder, or the quotient's last bit; b is not 0. In N + 6 layers.

    Signs are turned so that b > 0. A negative a becomes -a - 1, its bits inverted: that has the quotient -q - 1 and the
    remainder b - 1 - r. Long division keeps t, twice the remainder and a bit less b: b goes in where t is not negative.
    """

    own = ("a", "b", "below", "minus", "t", "quotient")

    @property
    def depth(self) -> int:  # type: ignore[override]
        return self.bits + 6

    def _begin(self, units: _Units) -> None:
        super()._begin(units)
        units.step({"y": -1}, minus=1)

    def _go_on(self, units: _Units, stage: int) -> None:
        large = units.large
        if stage == 0:  # a and b with the sign of b
            units.clear("a", "b")
            for sign in (1.0, -1.0):
                units.relu({"b": sign}, b=1)
                units.relu({"a": sign, "minus": -large}, a=sign)
                units.relu({"a": -sign, "minus": large, "here": -large}, a=sign)
        elif stage == 1:
            units.clear("a")
            units.step({"a": -1}, below=1)
            units.relu({"a": 1}, a=1)
            units.relu({"a": -1, "here": -1}, a=1)
            units.step({"a": 1, "here": 1 - units.half}, a=-2 * units.half)
            units.linear({"b": 1}, t=-1)
        elif stage < self.bits + 3:
            last = stage == self.bits + 2
            units.where_negative({"b": 1}, "t", t=1 if last else 2)
            units.linear({"quotient": 1}, quotient=-1 if self.name == "digit" else 1)
            units.step({"t": 1, "here": 1}, quotient=1)
            if last:
                return
            units.linear({"t": 1, "b": -1}, t=1)
            units.step({"a": -1}, t=1)
            units.clear("a")
            units.wrapped({"a": 2}, "a")
        else:
            self._finish(units)
            units.clear(*self.own)

    def _finish(self, units: _Units) -> None:
        large, inverted, other = units.large, {"below": units.large, "here": -units.large}, {"below": -units.large}
        match self.name:
            case "floordiv":
                units.relu({"quotient": 1, **other}, result=1)
                units.step({"quotient": 1, **other, "here": 1 - units.half}, result=-2 * units.half)
                units.relu({"quotient": 1, **inverted}, result=-1)
                units.linear({"below": 1}, result=-1)
            case "mod":
                for sign, minus, here in ((1.0, -large, 0.0), (-1.0, large, -large)):
                    units.relu({"t": 1, **other, "minus": minus, "here": here}, result=sign)
                    rest = {"b": 1, "t": -1, "below": large, "minus": minus, "here": here - large - 1}
                    units.relu(rest, result=sign)
            case _:
                for sign in (1.0, -1.0):
                    units.relu({"quotient": sign, "below": -sign}, result=1)
