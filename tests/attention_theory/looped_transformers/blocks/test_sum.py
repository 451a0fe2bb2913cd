import pytest
import torch

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.sum import SumBlock, sum_in_four_steps
from attention_theory.randomness import normal


@pytest.mark.parametrize("heads", [1, 2])
def test_sums_and_differences_are_exact_to_rounding(heads: int) -> None:
    a, b = normal(2, 5, 4, 4, seed=0)
    add, sub = (run_block(SumBlock(name, heads), a, b, spare=7) for name in ("add", "sub"))
    assert (add.result - (a + b)).abs().max() < 1e-14
    assert (sub.result - (a - b)).abs().max() < 1e-14
    assert all(len(layer.heads) <= heads for run in (add, sub) for layer in run.machine.layers)


def test_operands_stay_where_they_are() -> None:
    a, b = normal(2, 4, 4, seed=1)
    run = run_block(SumBlock("add"), a, b)
    assert torch.equal(run.rows.of(run.state, "add")[:8], torch.cat([a.mT, b.mT]))


def test_the_proof_as_printed_loses_b_and_a_second_pointer_brings_it() -> None:
    a, b = normal(2, 6, seed=2)
    for sign in (1.0, -1.0):
        assert (sum_in_four_steps(a, b, sign) - (a + sign * b)).abs().max() < 1e-14
        assert (sum_in_four_steps(a, b, sign, "printed") - a).abs().max() < 1e-14
