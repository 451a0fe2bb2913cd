import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.blocks.base import FunctionBlock, run_block
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
