import itertools
from typing import Literal

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions
from attention_theory.hyper_attention.layers.hyper_feature_attention import linear_hyper_feature_attention
from attention_theory.hyper_attention.worlds.coupled_features import (
    CoupledHead,
    Factor,
    Weight,
    coupled_interaction,
    embed_features,
    layer_of,
    product_symbols,
    product_tables,
)
from attention_theory.randomness import generator, normal

SIZES = [2, 3, 4]


def random_head(order: int, weights: int, seed: int) -> CoupledHead:
    draw = generator(seed)
    pick = torch.randint(len(SIZES), (3, 4), generator=draw).tolist()

    def table(*shape: int) -> Tensor:
        return normal(*shape, seed=draw)

    factors = [Factor(q, k, table(SIZES[q], SIZES[k])) for q, k in zip(pick[0][:order], pick[1][:order], strict=True)]
    return CoupledHead(factors, [Weight(g, table(SIZES[g])) for g in pick[2][:weights]])


def random_entities(seed: int) -> Tensor:
    draw = generator(seed)
    return torch.stack([torch.randint(size, (2, 5), generator=draw) for size in SIZES], dim=-1)


def by_loops(entities: Tensor, heads: list[CoupledHead], weights_at: Literal["j", "i"] = "j") -> Tensor:
    out = torch.zeros(len(entities), dtype=torch.float64)
    for i, j in itertools.product(range(len(entities)), repeat=2):
        for head in heads:
            term = torch.tensor(1.0, dtype=torch.float64)
            for factor in head.factors:
                term = term * factor.table[entities[i, factor.query], entities[j, factor.key]]
            for weight in head.weights:
                term = term * weight.table[entities[j if weights_at == "j" else i, weight.feature]]
            out[i] += term
    return out


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 4), st.integers(0, 4), st.integers(0, 10_000))
def test_four_ways_to_the_same_target(order: int, weights: int, seed: int) -> None:
    weights = min(weights, order)
    heads = [random_head(order, weights, seed), random_head(order, weights, seed + 1)]
    entities = random_entities(seed)
    expected = torch.stack([by_loops(one, heads) for one in entities])
    torch.testing.assert_close(coupled_interaction(entities, heads), expected, rtol=1e-11, atol=1e-11)

    tokens = embed_features(entities, SIZES)
    layers = [linear_hyper_feature_attention(tokens, *layer_of(head, SIZES)) for head in heads]
    torch.testing.assert_close(sum(layers)[..., 0], expected, rtol=1e-11, atol=1e-11)  # type: ignore[index]

    symbols = product_symbols(entities, SIZES)
    plain = torch.zeros_like(expected)
    for head in heads:
        effect, weight = product_tables(head, SIZES)
        plain += aggregate_interactions(symbols, effect, weight[:, None])[..., 0]
    torch.testing.assert_close(plain, expected, rtol=1e-11, atol=1e-11)


def test_weights_at_the_wrong_entity_give_another_function() -> None:
    head, entities = random_head(2, 1, 0), random_entities(0)
    at_i = coupled_interaction(entities, [head], weights_at="i")
    assert (at_i - coupled_interaction(entities, [head])).abs().max() > 0.1
    expected = torch.stack([by_loops(one, [head], "i") for one in entities])
    torch.testing.assert_close(at_i, expected, rtol=1e-11, atol=1e-11)
