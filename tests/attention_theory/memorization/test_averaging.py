import torch

from attention_theory.memorization.averaging import (
    averaging_layer,
    cancelling_examples,
    equal_queries,
    whole_mean_shifted_queries,
)
from attention_theory.memorization.examples import sample_examples


def test_every_token_gains_the_mean() -> None:
    examples = sample_examples(5, 3, 6, shared=False, seed=0)
    after = averaging_layer(examples)
    for t in range(5):
        mean = sum(examples.contexts[t]) / 3
        assert torch.allclose(after.queries[t], examples.queries[t] + mean)
        assert torch.allclose(after.contexts[t], examples.contexts[t] + mean)


def test_mean_shifted_queries_are_the_outputs() -> None:
    examples = sample_examples(5, 3, 6, shared=False, law="integer", seed=0)
    shifted = examples.queries + examples.contexts.mean(dim=-2)
    assert torch.allclose(shifted, averaging_layer(examples).queries, atol=1e-14)
    assert torch.allclose(whole_mean_shifted_queries(examples).double(), 3 * shifted, atol=1e-12)


def test_cancelling_examples_coincide_after_averaging() -> None:
    examples = cancelling_examples(sample_examples(5, 3, 6, law="integer", seed=0))
    assert len(whole_mean_shifted_queries(examples).unique(dim=0)) == 1
    assert torch.equal(examples.contexts[:, 0], examples.queries)


def test_equal_queries_stand_first_in_their_contexts() -> None:
    examples = equal_queries(sample_examples(5, 3, 6, shared=False, seed=0))
    assert len(examples.queries.unique(dim=0)) == 1
    assert torch.equal(examples.contexts[:, 0], examples.queries)


def test_two_tokens_and_two_examples_are_the_least() -> None:
    examples = cancelling_examples(sample_examples(2, 2, 6, law="integer", seed=0))
    shifted = whole_mean_shifted_queries(examples)
    assert torch.equal(shifted[0], shifted[1])
