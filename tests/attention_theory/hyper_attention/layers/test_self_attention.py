import math

import torch

from attention_theory.hyper_attention.layers.self_attention import linear_attention, softmax_attention
from attention_theory.randomness import normal


def test_softmax_attention_equals_a_loop_over_rows() -> None:
    tokens, query, key, value = (
        normal(2, 5, 4, seed=0),
        normal(4, 3, seed=1),
        normal(4, 3, seed=2),
        normal(4, 2, seed=3),
    )
    ours = softmax_attention(tokens, query, key, value)
    for sequence, outputs in zip(tokens, ours, strict=True):
        for token, output in zip(sequence, outputs, strict=True):
            scores = torch.stack([(token @ query) @ (other @ key) / math.sqrt(3) for other in sequence])
            weights = scores.exp() / scores.exp().sum()
            expected = sum(
                (weight * (other @ value) for weight, other in zip(weights, sequence, strict=True)), torch.zeros(2)
            )
            torch.testing.assert_close(output, expected, rtol=1e-12, atol=1e-13)


def test_linear_attention_takes_a_batch_of_layers() -> None:
    tokens, scores, values = normal(6, 4, seed=0), normal(5, 4, 4, seed=1), normal(5, 4, 2, seed=2)
    stacked = linear_attention(tokens, scores, values)
    for one, score, value in zip(stacked, scores, values, strict=True):
        torch.testing.assert_close(one, linear_attention(tokens, score, value))
