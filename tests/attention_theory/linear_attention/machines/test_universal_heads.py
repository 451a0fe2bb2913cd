import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.linear_attention.machines.universal import UniversalMachine
from attention_theory.linear_attention.machines.universal_heads import _LOAD, BLOCK, EMIT, UniversalHeads


@settings(max_examples=15)
@given(states=st.integers(1, 5), letters=st.integers(1, 4), window=st.integers(1, 6), steps=st.integers(1, 4))
def test_width_and_heads_follow_the_formulas(states: int, letters: int, window: int, steps: int) -> None:
    universal = UniversalMachine(states, letters, window, steps)
    assert universal.width == universal.width_formula(states, letters, window, steps)
    assert len(universal.heads) == universal.heads_formula(letters, window, steps)


def test_every_token_has_its_place() -> None:
    plan = UniversalHeads(2, 2, 3, 2)
    assert [plan.place(0, cell, EMIT) for cell in range(3)] == [2, 3, 4]
    places = [plan.place(step, cell, token) for step in (1, 2) for cell in range(3) for token in range(_LOAD, BLOCK)]
    assert places == list(range(5, plan.tokens))


@pytest.mark.parametrize("rows", ["private", "shared"])
def test_no_head_is_there_twice(rows: str) -> None:
    heads = UniversalHeads(2, 2, 3, 2, rows, "correct").heads  # type: ignore[arg-type]
    parts = ["source", "key", "value", "destination"]
    different = {(*(str(getattr(head, part).tolist()) for part in parts), head.weight) for head in heads}
    assert len(different) == len(heads)


def test_no_two_blocks_share_a_working_row() -> None:
    plan = UniversalHeads(2, 2, 2, 2)
    rows = torch.cat([plan.rows.indices(name) for name in plan.rows.blocks])
    assert torch.equal(rows.sort().values, torch.arange(plan.rows.size))
