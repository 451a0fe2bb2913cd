import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.linear_attention.machines.block_heads import BlockHead, BlockLayer, dense
from attention_theory.linear_attention.machines.recurrent_layer import RecurrentLayer
from attention_theory.linear_attention.model.mhla import mhla
from attention_theory.randomness import generator


def random_heads(width: int, count: int, seed: int) -> list[BlockHead]:
    """Heads with up to three entries in each matrix and weights of either sign."""
    draws = generator(seed)
    heads = []
    for _ in range(count):
        (source, key), (value, destination) = (
            torch.randint(width, (2, 3), generator=draws).unique(dim=1) for _ in range(2)
        )
        weight = 2 * torch.randint(2, (len(value),), generator=draws) - 1
        heads.append(BlockHead(source, key, value, destination, weight))
    return heads


@settings(max_examples=25, deadline=None)
@given(width=st.integers(1, 6), count=st.integers(1, 5), steps=st.integers(0, 3), seed=st.integers(0, 999))
def test_it_is_a_layer_of_linear_attention(width: int, count: int, steps: int, seed: int) -> None:
    """Every token is a whole number far below 2^53, so that the dense form in float64 is exact too."""
    heads = random_heads(width, count, seed)
    prompt = torch.randint(-1, 2, (3, 2, width), generator=generator(seed))
    tokens = prompt.double()
    for _ in range(steps):
        tokens = torch.cat([tokens, mhla(dense(heads, width), tokens)[:, None]], dim=1)
        if tokens.abs().max() > 1000:
            return
    assert torch.equal(RecurrentLayer(heads, width).run(prompt, steps).double(), tokens)
    assert torch.equal(BlockLayer(heads, width).run(prompt, steps), RecurrentLayer(heads, width).run(prompt, steps))


def test_tokens_come_one_by_one_and_without_end() -> None:
    layer = RecurrentLayer(random_heads(4, 3, 5), 4)
    prompt = torch.eye(4, dtype=torch.int64)[None]
    tokens = layer.tokens(prompt)
    assert torch.equal(torch.stack([next(tokens) for _ in range(3)], dim=1), layer.run(prompt, 3)[:, 4:])


def test_the_type_of_the_prompt_is_kept_and_not_overrun() -> None:
    one = torch.zeros(1, dtype=torch.int64)
    doubling = RecurrentLayer([BlockHead(one, one, one, one)], 1)  # y = (sum of squares) y
    for dtype in (torch.int8, torch.int64, torch.float32):
        assert doubling.run(torch.ones(1, 2, 1, dtype=dtype), 2).dtype == dtype
    assert doubling.run(torch.ones(1, 2, 1, dtype=torch.int64), 2).flatten().tolist() == [1, 1, 2, 12]
    with pytest.raises(OverflowError, match="does not fit into"):
        doubling.run(torch.ones(1, 2, 1, dtype=torch.int8), 3)
