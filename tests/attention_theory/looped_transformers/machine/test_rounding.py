import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.looped_transformers.machine.rounding import _digits_of, round_integer
from attention_theory.rows import Rows


def staircase(bits: int, stages: int) -> list[Layer]:
    rows = Rows(value=1, rest=1)
    layers = [Layer(rows, f"stage {stage}") for stage in range(stages)]
    round_integer(layers, 0, 1, bits)
    return layers


def by_fractions(layers: list[Layer], value: Fraction) -> tuple[Fraction, Fraction]:
    """The units one at a time, as declared, in exact arithmetic."""
    state = [value, Fraction(0)]
    for layer in layers:
        added = [Fraction(0), Fraction(0)]
        for unit in layer.units:
            hidden = sum((Fraction(weight) * state[row] for row, weight in unit.inputs.items()), Fraction(unit.bias))
            for row, weight in unit.outputs.items():
                added[row] += Fraction(weight) * max(hidden, Fraction(0))
        state = [old + new for old, new in zip(state, added, strict=True)]
    return state[0], state[1]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_in_exact_arithmetic_the_nearest_integer_is_left_and_nothing_else(data: st.DataObject) -> None:
    bits = data.draw(st.integers(1, 8))
    stages = data.draw(st.integers(1, bits))
    layers = staircase(bits, stages)
    for _ in range(5):
        integer = data.draw(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
        noise = data.draw(st.fractions(Fraction(-1, 4), Fraction(1, 4)))
        assert by_fractions(layers, integer + noise) == (integer, 0)


def test_a_long_integer_in_seven_stages() -> None:
    layers = staircase(48, 7)
    assert _digits_of(48, 7) == [6, 7, 7, 7, 7, 7, 7]
    for integer in (-(2**47), 2**47 - 1, -1, 0, 1, 2**41, 2**41 - 1, -(2**41) - 1, 123456789012):
        for noise in (Fraction(-1, 4), Fraction(1, 4), Fraction(1, 7)):
            assert by_fractions(layers, integer + noise) == (integer, 0)
    assert [len(layer.units) for layer in layers] == [128, *[254] * 5, 256]


@pytest.mark.parametrize("stages", [1, 2, 3, 7])
def test_the_matrices_agree_with_rounding_by_python(stages: int) -> None:
    layers = staircase(8, stages)
    values = torch.arange(-128, 128, dtype=torch.float64).repeat_interleave(3)
    state = torch.stack([values + torch.tensor([-0.25, 0.125, 0.25]).repeat(256), torch.zeros(768)], dim=1)
    found = LoopedTransformer(layers[0].rows, layers).cycle(state, 1.0)
    assert found[:, 0].tolist() == [math.floor(value + 0.5) for value in state[:, 0].tolist()]
    assert not found[:, 1].any()


def test_halfway_between_two_integers_nothing_is_decided() -> None:
    assert by_fractions(staircase(4, 1), Fraction(5, 2)) == (Fraction(5, 2), 0)
