import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.blocks.base import FunctionBlock, block_limit, run_block
from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.sigmoid import RowSigmoidBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.blocks.transpose import TransposeBlock
from attention_theory.randomness import normal

EXACT: list[FunctionBlock] = [SumBlock("add"), SumBlock("sub"), TransposeBlock(), RowSigmoidBlock()]


@pytest.mark.parametrize("block", EXACT, ids=lambda block: block.name)
@given(size=st.integers(3, 8), seed=st.integers(0, 10**6), spare=st.integers(0, 9))
@settings(max_examples=10)
def test_a_block_equals_its_reference(block: FunctionBlock, size: int, seed: int, spare: int) -> None:
    a, b = normal(2, 3, size, size, seed=seed)
    expected = torch.stack([block.reference(*pair) for pair in zip(a, b, strict=True)])
    assert (run_block(block, a, b, spare=spare).result - expected).abs().max() < 2e-12


def test_only_what_is_affine_is_the_limit_in_the_temperature() -> None:
    a, b = normal(2, 3, 3, seed=5)
    for block in (SumBlock("add", 1), SumBlock("sub", 1), SumBlock("add", 2), TransposeBlock()):
        limit, derivative = block_limit(block, a, b)
        assert torch.allclose(limit, block.reference(a, b), atol=1e-12)
        moved = torch.einsum("kij,k->ij", derivative, torch.cat([a.mT, b.mT]).flatten()[: len(derivative)])
        assert torch.allclose(moved, limit, atol=1e-12)  # linear: the derivative along the operands is the result
    limit, derivative = block_limit(ProductBlock(slope=1e-2), a, b)
    assert torch.allclose(limit, torch.tensor(-100.0).double())
    assert not derivative.any()
