import pytest
import torch

from attention_theory.rows import Rows, combine, moves
from attention_theory.validation import ParameterError


def test_blocks_follow_each_other_and_give_views() -> None:
    rows = Rows(memory=3, flag=1)
    assert (rows["memory"], rows["flag"], rows.size) == (range(3), range(3, 4), 4)
    state = torch.zeros(2, 5, 4)
    rows.view(state, "memory")[:, 1] = 1
    assert state.sum() == 6


def test_blocks_can_be_added_and_are_given_out_once() -> None:
    rows = Rows(letter=3)
    assert rows.add("state of block 1", 2) == range(3, 5)
    assert rows.size == 5
    assert rows.indices("state of block 1").tolist() == [3, 4]
    assert "letter" in rows
    assert "position" not in rows
    with pytest.raises(ParameterError, match="rows of letter are given out already"):
        rows.add("letter", 1)
    with pytest.raises(ParameterError, match="rows of empty must be at least 1"):
        rows.add("empty", 0)


def test_combinations_add_blocks_row_by_row() -> None:
    assert combine(range(2), range(2, 4), weights=[1.0, -2.0]) == [{0: 1.0, 2: -2.0}, {1: 1.0, 3: -2.0}]
    assert combine(range(1), range(1)) == [{0: 2.0}]
    assert moves(range(2), range(2, 4), 0.5) == [({0: 0.5}, 2), ({1: 0.5}, 3)]
