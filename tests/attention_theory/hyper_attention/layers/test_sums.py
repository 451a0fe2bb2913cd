import itertools

import pytest

from attention_theory.hyper_attention.layers.sums import SUMS, Sum, allowed_tuples

HOLDS = {
    "all": lambda a, b: True,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
}


@pytest.mark.parametrize("sum_over", SUMS)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("members", [1, 2, 3])
def test_mask_is_the_definition_entry_by_entry(sum_over: Sum, causal: bool, members: int) -> None:
    mask = allowed_tuples(4, members, sum_over, causal)
    for query, *chosen in itertools.product(range(4), repeat=members + 1):
        ordered = all(HOLDS[sum_over](a, b) for a, b in itertools.pairwise(chosen))
        past = not causal or all(one <= query for one in chosen)
        assert mask[(query, *chosen)] == (ordered and past)
