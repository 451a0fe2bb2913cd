import pytest
import torch
from torch import Tensor

from attention_theory.encodings import random_orthonormal
from attention_theory.hyper_attention.interactions.interactions import (
    aggregate_interactions,
    represent_others,
    sample_sequences,
)
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.randomness import generator, normal


def task(size: int, features: int, seed: int) -> tuple[Tensor, Tensor]:
    draw = generator(seed)
    effect = normal(size, size, seed=draw)
    return effect, normal(size, features, seed=draw)


def loop(symbols: Tensor, effect: Tensor, weights: Tensor, self_term: bool) -> Tensor:
    result = torch.zeros(len(symbols), weights.shape[1], dtype=torch.float64)
    for i, mine in enumerate(symbols.tolist()):
        for j, other in enumerate(symbols.tolist()):
            if self_term or i != j:
                result[i] += effect[mine, other] * weights[other]
    return result


@pytest.mark.parametrize("self_term", [True, False])
def test_interactions_equal_the_double_sum(self_term: bool) -> None:
    effect, weights = task(4, 2, seed=0)
    for symbols in sample_sequences(10, 5, 4, seed=1):
        ours = aggregate_interactions(symbols, effect, weights, self_term)
        torch.testing.assert_close(ours, loop(symbols, effect, weights, self_term))


@pytest.mark.parametrize("length", [1, 2, 7])
def test_the_term_of_the_token_itself_can_be_left_out_at_one_length_only(length: int) -> None:
    effect, weights = task(4, 1, seed=0)
    embedding = random_orthonormal(4, 4, 1)
    score, value = represent_others(effect, weights, embedding, length)
    errors = []
    for tokens in (length, length + 1):
        symbols = torch.cat([sample_sequences(20, tokens, 4, seed=2), torch.zeros(1, tokens, dtype=torch.int64)])
        others = torch.stack([loop(one, effect, weights, self_term=False) for one in symbols])
        errors.append((linear_attention(embedding[symbols], score, value) - others).abs().max().item())
    assert errors[0] < 1e-12 < 1e-3 < errors[1]
