"""The most by which noise in its input moves the output of a ReLU network, whatever bits its rows stand for.

A row is a combination of bits (:mod:`columns`) and noise of which the largest size is known. A unit whose sign is known
in spite of the noise is nothing or linear. The others are taken together where they depend on one and the same
combination of rows: as a function of that number they are a broken line, of which every piece is looked at.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from torch import Tensor

from attention_theory.looped_transformers.certified.columns import Column, apply, combine, extent
from attention_theory.looped_transformers.certified.words import ONE, Atom, Row

#: By row, the most by which it is off; rows that are not in it are exact.
Noise = dict[int, Fraction]

_FEW = 1024  # values of a combination of bits, which are looked at one by one

#: A combination of rows with noise, and what it stands for apart from a constant; the first weight is 1.
_Direction = tuple[tuple[tuple[int, Fraction], ...], tuple[tuple[Atom, Fraction], ...]]


@dataclass(frozen=True)
class _Ramp:
    """``weight relu(side (z + shift))``, where ``side`` is 1 or -1."""

    weight: Fraction
    side: int
    shift: Fraction


def noise_after(w1: Tensor, b1: Tensor, w2: Tensor, column: Column, noise: Noise) -> Noise:
    """The noise behind ``x + W2 relu(W1 x + b1) + b2``.

    Args:
        w1, b1, w2: the weights.
        column: x without its noise.
        noise: of x.
    """
    linear: dict[int, dict[int, Fraction]] = {row: {row: Fraction(1)} for row in noise}
    broken: dict[int, dict[_Direction, list[_Ramp]]] = {}
    units = _open_units(w1, b1, column, noise)
    for row, unit in w2.nonzero().tolist():
        if unit not in units:
            continue
        weight, (inputs, value) = Fraction(w2[row, unit].item()), units[unit]
        if value is None:
            _add(linear.setdefault(row, {}), inputs, weight)
        else:
            direction, scale, side, shift = _direction(inputs, value)
            broken.setdefault(row, {}).setdefault(direction, []).append(_Ramp(weight * scale, side, shift))
    found = {row: _moved(linear.get(row, {}), broken.get(row, {}), noise) for row in linear.keys() | broken.keys()}
    return {row: size for row, size in found.items() if size}


def _open_units(
    w1: Tensor, b1: Tensor, column: Column, noise: Noise
) -> dict[int, tuple[dict[int, Fraction], Row | None]]:
    """Units that noise can move: the weights of noisy rows, and the sum without noise if its sign is open."""
    weights: dict[int, dict[int, Fraction]] = {}
    for unit, row in w1.nonzero().tolist():
        if row in noise:
            weights.setdefault(unit, {})[row] = Fraction(w1[unit, row].item())
    sums = apply(w1[list(weights)], column) if weights else {}
    units: dict[int, tuple[dict[int, Fraction], Row | None]] = {}
    for place, (unit, inputs) in enumerate(weights.items()):
        bias: Row = {ONE: Fraction(b1[unit].item())}
        value = combine([(Fraction(1), sums.get(place, {})), (Fraction(1), bias)])
        off, (low, high) = _size(inputs, noise), extent(value)
        if high + off > 0:
            units[unit] = inputs, None if low - off >= 0 else value
    return units


def _size(weights: Mapping[int, Fraction], noise: Noise) -> Fraction:
    return sum((abs(weight) * noise[row] for row, weight in weights.items()), Fraction(0))


def _add(total: dict[int, Fraction], inputs: Mapping[int, Fraction], weight: Fraction) -> None:
    for row, factor in inputs.items():
        total[row] = total.get(row, Fraction(0)) + weight * factor


def _direction(inputs: dict[int, Fraction], value: Row) -> tuple[_Direction, Fraction, int, Fraction]:
    """The combination whose first weight is 1, and the scale, side and shift of a unit that reads it."""
    rows = sorted(inputs)
    first = inputs[rows[0]]
    atoms = sorted(atom for atom in value if atom != ONE)
    direction = (
        tuple((row, inputs[row] / first) for row in rows),
        tuple((atom, value[atom] / first) for atom in atoms),
    )
    return direction, abs(first), 1 if first > 0 else -1, value.get(ONE, Fraction(0)) / first


def _moved(linear: dict[int, Fraction], broken: dict[_Direction, list[_Ramp]], noise: Noise) -> Fraction:
    """The most by which a row is moved, by what is linear in the noise and by broken lines."""
    total, bent = dict(linear), dict[_Direction, list[_Ramp]]()
    for direction, ramps in broken.items():
        slopes = {*_slopes(ramps)}
        if len(slopes) == 1:
            _add(total, dict(direction[0]), slopes.pop())
        else:
            bent[direction] = ramps
    total = {row: weight for row, weight in total.items() if weight}
    if len(bent) == 1:
        ((weights, atoms), ramps) = next(iter(bent.items()))
        factor = total.get(weights[0][0], Fraction(0))
        if total == {row: factor * weight for row, weight in weights if factor}:  # one line in all
            return _swing(ramps, factor, [weight for _, weight in atoms], _size(dict(weights), noise))
    size = _size(total, noise)
    for (weights, atoms), ramps in bent.items():
        size += _swing(ramps, Fraction(0), [weight for _, weight in atoms], _size(dict(weights), noise))
    return size


def _slopes(ramps: list[_Ramp]) -> Iterator[Fraction]:
    """The slopes of all pieces of a broken line, from left to right."""
    slope = sum((ramp.weight * ramp.side for ramp in ramps if ramp.side < 0), Fraction(0))
    bends = sorted({-ramp.shift for ramp in ramps})
    yield slope
    for bend in bends:  # behind its bend a unit of either side adds its weight to the slope
        slope += sum((ramp.weight for ramp in ramps if -ramp.shift == bend), Fraction(0))
        yield slope


def _swing(ramps: list[_Ramp], slope: Fraction, weights: list[Fraction], off: Fraction) -> Fraction:
    """The most by which ``slope z + Σ ramps`` changes where ``z`` is off, for all values of the bits in ``z``."""
    values = {Fraction(0)}
    for weight in weights:
        if len(values) <= _FEW:
            values = {value + change for value in values for change in (-weight, weight)}
    if len(values) > _FEW:
        return max(abs(slope + piece) for piece in _slopes(ramps)) * off

    # in whole numbers, of a unit of z and a unit of slopes, as fractions cost ten times as much
    unit = math.lcm(off.denominator, *(number.denominator for number in [*values, *(ramp.shift for ramp in ramps)]))
    steep = math.lcm(slope.denominator, *(ramp.weight.denominator for ramp in ramps))
    whole = [(int(ramp.weight * steep), ramp.side, int(ramp.shift * unit)) for ramp in ramps]
    factor, reach = int(slope * steep), int(off * unit)

    def value(z: int) -> int:
        return factor * z + sum(weight * max(side * (z + shift), 0) for weight, side, shift in whole)

    most = 0
    for z in (int(one * unit) for one in values):
        bends = [-shift for _, _, shift in whole if abs(shift + z) < reach]
        at_z = value(z)
        most = max([most, *(abs(value(point) - at_z) for point in (z - reach, z + reach, *bends))])
    return Fraction(most, unit * steep)
