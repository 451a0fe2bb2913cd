import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attention_theory.hyper_attention.layers.hyper_attention import HyperAttention, hyper_attention_parameters
from attention_theory.hyper_attention.layers.sums import SUMS, Sum
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention
from attention_theory.randomness import normal


def layer(*args: int | None, **options: object) -> HyperAttention:
    torch.manual_seed(0)
    return HyperAttention(*args, **options).double()  # type: ignore[arg-type]


def tokens(count: int, width: int) -> Tensor:
    return normal(2, count, width, seed=1)


@pytest.mark.parametrize("sum_over", SUMS)
@pytest.mark.parametrize("sharing", [True, False])
@pytest.mark.parametrize("separate", [True, False])
def test_order_three_equals_the_literal_sum_head_by_head(sum_over: Sum, sharing: bool, separate: bool) -> None:
    module = layer(8, 2, sum_over=sum_over, sharing=sharing, separate_output=separate)
    x = tokens(6, 8)
    heads = []
    for head in range(2):
        at = slice(4 * head, 4 * head + 4)
        keys = [project(x)[..., at] for project in module.keys] * (2 if sharing else 1)
        values = [project(x)[..., at] for project in module.values] * (2 if sharing else 1)
        mixed = tuple_attention(module.queries(x)[..., at], keys, values, sum_over, scale=0.5)
        heads.append(mixed @ module.last_value.weight[head] if separate else mixed)  # type: ignore[index]
    torch.testing.assert_close(module(x), module.out(torch.cat(heads, -1)), rtol=0, atol=1e-12)


@settings(deadline=None, max_examples=25)
@given(
    st.integers(1, 3),
    st.integers(2, 5),
    st.sampled_from([None, 2, 5]),
    st.booleans(),
    st.booleans(),
)
def test_parameter_counts_match_the_formula(
    heads: int, order: int, rank: int | None, sharing: bool, separate: bool
) -> None:
    module = layer(6 * heads, heads, order, rank=rank, sharing=sharing, separate_output=separate)
    expected = hyper_attention_parameters(6 * heads, heads, order, rank, sharing, separate)
    assert sum(p.numel() for p in module.parameters()) == expected


@pytest.mark.parametrize("order", [3, 4])
def test_shared_heads_of_keys_and_values_are_heads_with_equal_maps(order: int) -> None:
    grouped, whole, x = layer(8, 4, order, num_kv_heads=2), layer(8, 4, order), tokens(5, 8)
    state = grouped.state_dict()
    for name in ("keys.0.weight", "values.0.weight"):
        state[name] = state[name].unflatten(0, (2, 2)).repeat_interleave(2, 0).flatten(0, 1)
    whole.load_state_dict(state)
    torch.testing.assert_close(grouped(x), whole(x), rtol=0, atol=1e-13)
