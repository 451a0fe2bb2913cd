"""Chains of words against Definition 2.1 and against their own law."""

import pytest
import torch

from attention_theory.in_context_reasoning.chain import chain_probability, chain_sentences
from attention_theory.in_context_reasoning.task import Task, bigram_count, violations

TASK = Task(20, 1, 4, 40, noisy=True)


def test_chains_break_at_most_the_condition_that_the_bigram_occurs() -> None:
    chains = chain_sentences(TASK, 3000, 0.4, 0)
    for name, broken in violations(chains, TASK).items():
        without = bigram_count(chains.tokens, chains.trigger, chains.output) == 0
        assert torch.equal(broken, without if name.startswith("I:") else torch.zeros_like(broken)), name
        assert 0 < without.sum() < len(without)


def test_the_law_of_the_chains_is_that_of_the_sampler() -> None:
    task = Task(6, 1, 2, 5, noisy=True, fillers="outputs allowed")
    words = torch.cartesian_prod(*[torch.arange(6)] * 4)
    contexts = torch.nn.functional.pad(words, (0, 1))
    laws = torch.stack([chain_probability(contexts, output, task, 0.3) for output in task.output_words])
    assert (laws.sum(dim=1) - 1).abs().max() < 1e-12
    drawn = chain_sentences(task, 100_000, 0.3, 0)
    for law, output in zip(laws, task.output_words, strict=True):
        rows = drawn.tokens[drawn.output == output, :-1]
        numbers = (rows * torch.tensor([216, 36, 6, 1])).sum(dim=1)
        shares = torch.bincount(numbers, minlength=6**4).double() / len(rows)
        assert shares[law == 0].sum() == 0
        assert (shares - law).abs().max() < 5 * (law.max() / len(rows)) ** 0.5


@pytest.mark.parametrize(("noise", "after"), [(0.0, {2, 3, 1, 4}), (1.0, {TASK.noise_token})])
def test_without_noise_and_with_nothing_else(noise: float, after: set[int]) -> None:
    chains = chain_sentences(TASK, 200, noise, 0)
    follow = chains.tokens[:, 1:][chains.tokens[:, :-1] == 0]
    assert set(follow.tolist()) == after
    assert (chain_probability(chains.tokens[:1], int(chains.output[0]), TASK, noise) > 0).all()
    assert len(chain_sentences(TASK, 1, noise, 0).tokens) == 1
