import torch

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.sigmoid import (
    ColumnSigmoidBlock,
    SigmoidSum,
    SigmoidSumBlock,
    sharp_steps,
)
from attention_theory.randomness import normal


def test_a_sum_of_sigmoids_block_equals_the_sum() -> None:
    steps = sharp_steps(torch.tensor([0.5, 1.0, 3.0]), torch.tensor([1.0, -2.0, 0.5]), 8.0)
    function = SigmoidSum(*(part.double() for part in (steps.slopes, steps.shifts, steps.heights)))
    a = torch.zeros(20, 4, 4, dtype=torch.float64)
    a[:, 0, 0] = torch.linspace(-1, 4, 20, dtype=torch.float64)
    result = run_block(SigmoidSumBlock("f", function), a, a, spare=3).result
    slow = sum(
        height * (slope * a[:, 0, 0] + shift).sigmoid()
        for slope, shift, height in zip(function.slopes, function.shifts, function.heights, strict=True)
    )
    assert (result[:, 0, 0] - slow).abs().max() < 1e-13
    assert function.terms == 3


def test_sharp_steps_rise_at_their_knots() -> None:
    function = sharp_steps(torch.tensor([1.0, 2.0]).double(), torch.tensor([1.0, 1.0]).double(), 200.0)
    assert torch.allclose(function(torch.tensor([0.5, 1.5, 3.0]).double()), torch.tensor([0.0, 1.0, 2.0]).double())


def test_a_column_sigmoid_takes_every_entry() -> None:
    for size in (3, 4, 6):
        a, b = normal(2, 3, size, size, seed=0)
        found = run_block(ColumnSigmoidBlock(), a, b, spare=5).result
        assert (found[..., 0] - a[..., 0].sigmoid()).abs().max() < 1e-12
        assert found[..., 1:].abs().max() < 1e-12
    wrong = run_block(ColumnSigmoidBlock(), a, b, columns=12).result
    assert (wrong[..., 0] - a[..., 0].sigmoid()).abs().max() > 1e-2
