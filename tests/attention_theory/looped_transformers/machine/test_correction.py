import torch

from attention_theory.looped_transformers.machine.correction import correct
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.randomness import generator
from attention_theory.rows import Rows


def rounded(values: torch.Tensor, margin: float) -> torch.Tensor:
    rows = Rows(value=1)
    layer = Layer(rows, "correct")
    correct(layer, rows["value"], margin)
    return layer.dense.feed_forward(values[:, None])[:, 0]


def test_values_on_a_grid_are_rounded_exactly() -> None:
    noise = torch.arange(-256, 257, dtype=torch.float64) / 1024  # up to 1/4, ends included
    for bit in (-1.0, 0.0, 1.0):
        assert torch.equal(rounded(bit + noise, 0.25), torch.full_like(noise, bit))


def test_other_values_and_margins_to_rounding() -> None:
    noise = torch.rand(500, dtype=torch.float64, generator=generator(0)) * 2 - 1
    for margin in (0.1, 0.25, 0.4):
        for bit in (-1.0, 0.0, 1.0):
            expected = torch.full_like(noise, bit)
            torch.testing.assert_close(rounded(bit + margin * noise, margin), expected, rtol=0, atol=1e-14)


def test_beyond_the_margin_it_does_not_round() -> None:
    assert rounded(torch.tensor([0.5], dtype=torch.float64), 0.25).item() == 0.5
