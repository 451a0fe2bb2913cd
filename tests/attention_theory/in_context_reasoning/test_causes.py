"""The four questions behind Table 1, against weights and sentences made by hand."""

import pytest
import torch

from attention_theory.in_context_reasoning.causes import best_known, logits_at
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.task import Task, sample_sentences, violations
from attention_theory.in_context_reasoning.variants import TABLE_1, VARIANTS

QUIET, NOISY = Task(14, 2, 3, 10), Task(14, 2, 3, 10, noisy=True)


@pytest.mark.parametrize("task", [QUIET, NOISY])
def test_an_exchange_undone_is_the_same_and_keeps_the_rules(task: Task) -> None:
    sentences = sample_sentences(task, 20, 0)
    swapped = sentences.exchange(task.neutral_words.start)
    assert not any(bool(broken.any()) for broken in violations(swapped, task, unseen=True).values())
    for index in range(20):
        one, other = sentences.pick(slice(index, index + 1)), swapped.pick(slice(index, index + 1))
        assert torch.equal(other.exchange(int(one.output)).tokens, one.tokens)


@pytest.mark.parametrize("name", TABLE_1)
def test_best_known_weights_name_the_output_and_the_noise_word(name: str) -> None:
    variant, which = VARIANTS[name], VARIANTS[name].architecture()
    sentences = sample_sentences(NOISY, 20, 1)
    weights = best_known(variant, NOISY, 30.0, 0.2)
    output, noise = (logits_at(sentences, weights, which, word) for word in (None, NOISY.noise_token))
    fixed = variant.trained != "all"
    height = 1.0 if fixed and variant.attention == "softmax" else 30.0
    follows = variant.full_input or not fixed
    torch.testing.assert_close(output, torch.full_like(output, height))
    torch.testing.assert_close(noise, torch.full_like(noise, odds(0.2) + follows * height))
