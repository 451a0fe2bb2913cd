from collections.abc import Callable

import pytest
import torch

from attention_theory.hyper_attention.layers.linear_sums import LinearHyperAttention, cubic_pair_sum, linear_pair_sum
from attention_theory.hyper_attention.layers.sums import SUMS, Sum
from attention_theory.measure import entries_touched, matrix_operations
from attention_theory.randomness import normal


@pytest.mark.parametrize(("sum_over", "causal"), [("all", True), ("ge", False), ("le", True)])
@pytest.mark.parametrize("count", [matrix_operations, entries_touched])
def test_work_is_linear_in_the_tokens(sum_over: Sum, causal: bool, count: Callable[..., int]) -> None:
    x = normal(5, 80, 4, seed=0)
    short, long = (count(lambda n=n: linear_pair_sum(*x[:, :n], sum_over=sum_over, causal=causal)) for n in (40, 80))
    assert 1.8 < long / short <= 2


@pytest.mark.parametrize("sum_over", SUMS)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("sharing", [True, False])
def test_the_block_is_the_cubic_sum_head_by_head(sum_over: Sum, causal: bool, sharing: bool) -> None:
    torch.manual_seed(0)
    options = {"sum_over": sum_over, "is_causal": causal, "sharing": sharing, "dtype": torch.float64}
    module, x = LinearHyperAttention(8, 2, **options), normal(2, 5, 8, seed=1)  # type: ignore[arg-type]
    heads = []
    for at in (slice(0, 4), slice(4, 8)):
        keys, values = ([project(x)[..., at] for project in some] * 2 for some in (module.keys, module.values))
        q = module.queries(x)[..., at]
        first, last = (keys[0], values[0]), (keys[1], values[1])
        heads.append(cubic_pair_sum(q, first[0], last[0], first[1], last[1], sum_over=sum_over, causal=causal))
    torch.testing.assert_close(module(x), module.out(torch.cat(heads, -1)), rtol=0, atol=1e-12)
