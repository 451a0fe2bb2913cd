import pytest
import torch
from torch import Tensor

from attention_theory.looped_transformers.blocks.approximation import root_sigmoids
from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.column_sums import ColumnSumBlock
from attention_theory.looped_transformers.machine.summary import summarise


def numbers(size: int) -> Tensor:
    a = torch.zeros(9, size, size, dtype=torch.float64)
    a[:, 0, 0] = torch.linspace(0.0, 4.0, 9, dtype=torch.float64)
    return a


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_column_a_term_makes_the_sum(size: int) -> None:
    function, a = root_sigmoids(0.25, 4.0), numbers(size)
    run = run_block(ColumnSumBlock("root", function), a, a, spare=3)
    assert (run.result[:, 0, 0] - function(a[:, 0, 0])).abs().max() < 1e-11
    assert run.result[:, 1:].abs().max() == 0
    assert run.result[:, :, 1:].abs().max() < 1e-30
    sizes = summarise(run.machine)
    assert (sizes.layers, sizes.heads) == (2, 1)
