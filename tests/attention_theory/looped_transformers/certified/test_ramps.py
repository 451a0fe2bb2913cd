from fractions import Fraction

import pytest
import torch

from attention_theory.looped_transformers.certified.ramps import noise_after
from attention_theory.looped_transformers.certified.words import ONE
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.looped_transformers.machine.rounding import correct
from attention_theory.rows import Rows

NOISE = {0: Fraction(1, 16), 1: Fraction(1, 8)}
COLUMN = {0: {("word", 0): Fraction(1)}, 1: {ONE: Fraction(1, 2), ("word", 1): Fraction(-1, 2)}}


@pytest.mark.parametrize("seed", range(20))
def test_no_sample_of_a_random_network_is_moved_further(seed: int) -> None:
    """Some of its units come in pairs that read one combination of rows, as ramps do."""
    draws = torch.Generator().manual_seed(seed)
    w1 = torch.randn(6, 3, dtype=torch.float64, generator=draws)
    w1[3:] = -2 * w1[:3]
    b1 = torch.randn(6, dtype=torch.float64, generator=draws)
    w2 = torch.randn(3, 6, dtype=torch.float64, generator=draws)
    bound = noise_after(w1, b1, w2, COLUMN, NOISE)
    for _ in range(50):
        signs = torch.randint(0, 2, (2,), generator=draws) * 2.0 - 1
        exact = torch.tensor([signs[0], 0.5 - 0.5 * signs[1], 0.0], dtype=torch.float64)
        off = (2 * torch.rand(3, dtype=torch.float64, generator=draws) - 1) * torch.tensor([1 / 16, 1 / 8, 0.0])
        moved = off + w2 @ ((w1 @ (exact + off) + b1).relu() - (w1 @ exact + b1).relu())
        assert all(abs(moved[row]) <= float(bound.get(row, 0)) + 1e-12 for row in range(3))


def test_what_is_cleared_and_what_is_rounded_has_no_noise() -> None:
    rows = Rows(value=1, other=1)
    layer = Layer(rows, "round and clear")
    correct(layer, rows["value"])
    layer.clear(rows["other"])
    built = layer.dense
    assert noise_after(built.w1, built.b1, built.w2, COLUMN, NOISE) == {}


def test_more_noise_than_the_ramps_remove_stays() -> None:
    rows = Rows(value=1)
    layer = Layer(rows, "round")
    correct(layer, rows["value"])
    built = layer.dense
    assert noise_after(built.w1, built.b1, built.w2, COLUMN, {0: Fraction(3, 8)}) == {0: Fraction(1, 4)}
