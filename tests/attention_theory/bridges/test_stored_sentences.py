"""Sentences stored with any labels, the one-layer solution beside them, and how many sentences there are."""

from itertools import product

import pytest
import torch

from attention_theory.bridges.stored_sentences import heads_needed, sentence_count, store, understood
from attention_theory.in_context_reasoning.task import Sentences, Task, sample_sentences, violations

TASK = Task(tokens=16, triggers=2, outputs=3, length=6)


def test_stored_sentences_are_answered_whatever_their_labels() -> None:
    sentences = sample_sentences(TASK, 16, 0)
    labels = torch.arange(16) % 16
    made = store(sentences.tokens, labels, 16, 18, 1)
    assert made.heads.count == heads_needed(16, 6) == 3
    assert made.residual < 1e-6
    assert torch.equal(made.answers(sentences.tokens), labels)
    assert made.parameters == 3 * 2 * 18 * 6 + 3 * 18 * 16 + 3 * 16 * 18 + 18 * 16


def test_the_one_layer_solution_answers_sentences_with_words_that_were_never_outputs() -> None:
    for unseen in (False, True):
        sentences = sample_sentences(TASK, 50, 0, unseen=unseen)
        assert torch.equal(understood(sentences, TASK), sentences.output)


def test_sentences_are_counted() -> None:
    task = Task(tokens=5, triggers=1, outputs=2, length=5)
    every = torch.tensor(list(product(range(5), repeat=5)))
    trigger, fine = every[:, -1], torch.zeros(len(every), dtype=torch.bool)
    for output in task.output_words:
        given = Sentences(every, trigger, torch.full((len(every),), output))
        broken = torch.stack(list(violations(given, task).values())).any(dim=0)
        single = (every[:, :-1] == trigger[:, None]).sum(dim=1) == 1
        neutral = (torch.isin(every, torch.tensor([*task.output_words]))).sum(dim=1) == 1
        fine |= ~broken & single & neutral
    assert int(fine.sum()) == sentence_count(task)


@pytest.mark.parametrize(("sentences", "length", "heads"), [(1, 2, 1), (2, 2, 1), (3, 2, 2), (6, 6, 1), (7, 6, 2)])
def test_the_heads_that_are_needed_by_hand(sentences: int, length: int, heads: int) -> None:
    """H heads hold H (n - 1) + 1 sentences of n words."""
    assert heads_needed(sentences, length) == heads
