import pytest
import torch

from attention_theory.linear_attention.machines.block_heads import BlockHead, BlockLayer


def test_an_entry_too_large_for_the_type_is_refused() -> None:
    one = torch.tensor([0])
    layer = BlockLayer([BlockHead(one, one, one, one)], 1)
    with pytest.raises(OverflowError, match="int8"):
        layer.run(torch.full((1, 1, 1), 6, dtype=torch.int8), 1)


def test_an_entry_named_twice_is_refused() -> None:
    twice, once = torch.tensor([0, 0]), torch.tensor([0])
    for rows in ((twice, twice, once, once), (once, once, twice, twice)):
        with pytest.raises(ValueError, match="once"):
            BlockHead(*rows)
    BlockHead(twice, torch.tensor([0, 1]), once, once)


def test_sources_and_keys_are_equally_many() -> None:
    one = torch.arange(1)
    with pytest.raises(ValueError, match="as many keys"):
        BlockHead(one, torch.arange(2), one, one)
