"""General position: what is promised, and data that allow no more."""

import pytest
import torch

from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.general_position import capacity_in_general_position, fresh_examples, narrow_contexts
from attention_theory.memorization.kruskal import is_in_general_position
from attention_theory.numerics import numerical_rank


@pytest.mark.parametrize(("n", "expected"), [(1, 0), (2, 3), (3, 4), (4, 5), (6, 5)])
def test_fresh_examples_by_hand(n: int, expected: int) -> None:
    width = 7
    assert fresh_examples(n, width, width) == expected
    assert fresh_examples(n, width, 3) == min(2, expected)


def test_narrow_contexts_are_in_general_position_and_differ_in_a_subspace() -> None:
    data = narrow_contexts(7, 3, 4, seed=2)
    assert is_in_general_position(torch.cat([data.contexts.flatten(0, 1), data.queries]).long())
    differences = (data.contexts[:, 1:] - data.contexts[:, :1]).flatten(0, 1)
    assert int(numerical_rank(differences)) == fresh_examples(3, 4, 4) == 2


@pytest.mark.parametrize(("heads", "n", "d", "head_width"), [(3, 2, 5, 5), (2, 4, 6, 6), (3, 3, 6, 4), (2, 1, 4, 4)])
def test_built_heads_reach_the_promise(heads: int, n: int, d: int, head_width: int) -> None:
    count = capacity_in_general_position(heads, n, d, head_width)
    data = sample_examples(count, n, d, shared=False, seed=1)
    assert int(numerical_rank(build_heads(data, heads, head_width, general_position=True).Z)) == count
