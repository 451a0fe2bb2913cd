"""General position: what is promised, and data that allow no more."""

import pytest

from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.general_position import capacity_in_general_position, fresh_examples
from attention_theory.numerics import numerical_rank


@pytest.mark.parametrize(("n", "expected"), [(1, 0), (2, 3), (3, 4), (4, 5), (6, 5)])
def test_fresh_examples_by_hand(n: int, expected: int) -> None:
    width = 7
    assert fresh_examples(n, width, width) == expected
    assert fresh_examples(n, width, 3) == min(2, expected)


@pytest.mark.parametrize(("heads", "n", "d", "head_width"), [(3, 2, 5, 5), (2, 4, 6, 6), (3, 3, 6, 4), (2, 1, 4, 4)])
def test_built_heads_reach_the_promise(heads: int, n: int, d: int, head_width: int) -> None:
    count = capacity_in_general_position(heads, n, d, head_width)
    data = sample_examples(count, n, d, shared=False, seed=1)
    assert int(numerical_rank(build_heads(data, heads, head_width, general_position=True).Z)) == count
