import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attention_theory.linear_attention.machines.block_heads import BlockHead, BlockLayer, dense
from attention_theory.linear_attention.model.mhla import Heads, mhla
from attention_theory.randomness import generator

WIDTH = 7


def draw_head(source: torch.Generator) -> BlockHead:
    def rows(count: int) -> Tensor:
        return torch.randperm(WIDTH, generator=source)[:count]

    queries, moves, sign = torch.randint(1, 4, (3,), generator=source).tolist()
    return BlockHead(rows(queries), rows(queries), rows(moves), rows(moves), weight=1 if sign > 1 else -1)


def literal_run(heads: Heads, prompt: Tensor, steps: int) -> Tensor:
    tokens = prompt
    for _ in range(steps):
        tokens = torch.cat([tokens, mhla(heads, tokens)[:, None]], dim=1)
    return tokens


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), heads=st.integers(1, 6), tokens=st.integers(1, 5))
def test_a_run_equals_the_dense_matrices(seed: int, heads: int, tokens: int) -> None:
    source = generator(seed)
    drawn = [draw_head(source) for _ in range(heads)]
    prompt = torch.randint(-1, 2, (3, tokens, WIDTH), generator=source).double()
    run = BlockLayer(drawn, WIDTH).run(prompt, 2)
    assert torch.equal(run, literal_run(dense(drawn, WIDTH), prompt, 2))


def test_integers_stay_integers() -> None:
    rows = torch.arange(WIDTH)
    layer = BlockLayer([BlockHead(rows, rows, rows, rows.roll(1))], WIDTH)
    prompt = torch.eye(WIDTH, dtype=torch.int8)[None, :1]
    run = layer.run(prompt, 3)
    assert run.dtype == torch.int8
    assert run[0].argmax(dim=1).tolist() == [0, 6, 5, 4]


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
