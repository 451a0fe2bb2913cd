from itertools import combinations, product

import pytest
import torch
from torch import Tensor

from attention_theory.hyper_attention.layers.hyper_feature_attention import linear_hyper_feature_attention
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.side_by_side import (
    every_token,
    hyper_feature_stack,
    layer_within_reach,
    within_reach,
)
from attention_theory.randomness import generator, normal

SIZES = (2, 3, 2)
TOKENS = list(product(*map(range, SIZES)))


def indicators(most: int) -> Tensor:
    """A column for each set of features and each combination of their values."""
    columns = [
        [float(all(token[f] == v for f, v in zip(some, values, strict=True))) for token in TOKENS]
        for some in combinations(range(len(SIZES)), most)
        for values in product(*(range(SIZES[f]) for f in some))
    ]
    return torch.tensor(columns, dtype=torch.float64).T


@pytest.mark.parametrize("order", [1, 2])
def test_what_is_within_reach_is_the_least_squares_fit_on_indicators(order: int) -> None:
    effect = normal(len(TOKENS), len(TOKENS), seed=order)
    of_i, of_j = indicators(order), indicators(min(2 * order, len(SIZES)))
    fit = of_i @ torch.linalg.pinv(of_i) @ effect @ torch.linalg.pinv(of_j).mT @ of_j.mT
    torch.testing.assert_close(within_reach(effect, SIZES, order), fit, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sizes", [(3,), (2, 2), (2, 3, 2), (2, 2, 2, 2)])
def test_the_layer_sums_the_part_within_reach_over_tokens(sizes: tuple[int, ...]) -> None:
    every = every_token(sizes)
    effect = normal(len(every), len(every), seed=0)
    symbols = torch.randint(len(every), (7,), generator=generator(1))
    score, value = layer_within_reach(effect, sizes)
    outputs = linear_attention(every[symbols], score, value).sum(dim=0)[:, 0]
    near = within_reach(effect, sizes)
    wanted = torch.tensor([sum(near[i, j].item() for j in symbols) for i in symbols], dtype=torch.float64)
    torch.testing.assert_close(outputs, wanted, rtol=0, atol=1e-11)
    assert len(score) == sum(sizes) - max(sizes) - len(sizes) + 2


def test_the_stack_is_the_loop_over_heads_and_counts_tokens() -> None:
    tokens, draw = normal(4, 3, seed=0), generator(1)
    layers = [(normal(2, 2, 3, 3, seed=draw), normal(2, 2, 3, 3, seed=draw)) for _ in range(2)]
    x = tokens
    for scores, values in layers:
        x = x + sum(linear_hyper_feature_attention(x, *head) for head in zip(scores, values, strict=True))
    torch.testing.assert_close(hyper_feature_stack(tokens, layers, skip=True), x)
    twice = torch.cat([tokens, tokens[:1]])
    counts = torch.tensor([2.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    torch.testing.assert_close(
        hyper_feature_stack(tokens, layers, counts=counts), hyper_feature_stack(twice, layers)[:4]
    )
