import itertools
import math

import pytest
import torch
from torch import Tensor

from attention_theory.hyper_attention.layers.sums import SUMS, Sum, allowed_tuples
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention
from attention_theory.layers import attention, causal_mask
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError


def by_loops(queries: Tensor, keys: list[Tensor], values: list[Tensor], sum_over: Sum, causal: bool) -> Tensor:
    """The definition, one tuple at a time."""
    tokens, members = len(queries), len(keys)
    mask = allowed_tuples(tokens, members, sum_over, causal)
    out = torch.zeros_like(values[0])
    for i in range(tokens):
        total = 0.0
        for chosen in itertools.product(range(tokens), repeat=members):
            if mask[(i, *chosen)]:
                product = queries[i].clone()
                mixed = torch.ones_like(values[0][0])
                for j, key, value in zip(chosen, keys, values, strict=True):
                    product, mixed = product * key[j], mixed * value[j]
                weight = math.exp(product.sum())
                total += weight
                out[i] += weight * mixed
        out[i] /= total or 1.0
    return out


@pytest.mark.parametrize("sum_over", SUMS)
@pytest.mark.parametrize(("members", "causal"), [(1, True), (2, True), (2, False), (3, True)])
def test_equals_the_loop_over_tuples(sum_over: Sum, members: int, causal: bool) -> None:
    draw = generator(members)
    queries = normal(5, 3, seed=draw)
    keys = list(normal(members, 5, 3, seed=draw))
    values = list(normal(members, 5, 2, seed=draw))
    expected = by_loops(queries, keys, values, sum_over, causal)
    torch.testing.assert_close(tuple_attention(queries, keys, values, sum_over, causal), expected, rtol=0, atol=1e-13)


def test_order_two_is_attention() -> None:
    q, k, v = normal(3, 2, 6, 4, seed=0)
    expected = attention(q, k, v, mask=causal_mask(6))
    torch.testing.assert_close(tuple_attention(q, [k], [v]), expected, rtol=0, atol=1e-14)


def test_as_many_values_as_keys() -> None:
    x = torch.ones(3, 2)
    with pytest.raises(ParameterError, match="keys and values"):
        tuple_attention(x, [x, x], [x])
