import torch

from attention_theory.memorization.attention import random_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.rank_bounds import block_differences, features_of_unnormalised_weights, rank_and_gap


def test_block_differences_by_hand() -> None:
    assert block_differences(3, 2).T.tolist() == [[-1, -1, 1, 1, 0, 0], [-1, -1, 0, 0, 1, 1]]


def test_the_gap_after_the_last_singular_value_is_to_zero() -> None:
    matrix = torch.diag(torch.tensor([8.0, 4.0, 2.0]))
    assert [rank_and_gap(matrix, rank) for rank in (1, 2, 3)] == [(1.0, 0.5), (0.5, 0.25), (0.25, 0.0)]


def test_unnormalised_weights_by_hand() -> None:
    examples = sample_examples(1, 2, 3, seed=0)
    heads = random_heads(1, 3, 3, 1)
    query = heads.keys[0] @ heads.queries[0].T @ examples.queries[0]
    expected = sum(torch.tanh(token @ query) * token for token in examples.context_of_each[0])
    torch.testing.assert_close(features_of_unnormalised_weights(heads, examples)[0], expected)
