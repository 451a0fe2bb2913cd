"""Sentences against Definition 2.1."""

import itertools

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.in_context_reasoning.task import (
    Sentences,
    Task,
    bigram_count,
    draw_labels,
    recover_output,
    sample_sentences,
    violations,
)


def conditions_by_hand(words: list[int], q: int, y: int, task: Task, unseen: bool = False) -> bool:
    """Definition 2.1, word by word."""
    if q not in range(task.triggers) or y not in (task.neutral_words if unseen else task.output_words):
        return False
    pairs = list(itertools.pairwise(words))
    follows_q = all(
        second in ({y, task.noise_token} if task.noisy else {y}) and first == q
        for first, second in pairs
        if first < task.triggers
    )
    noise_after_q = words[0] != task.noise_token and all(
        first == q for first, second in pairs if second == task.noise_token
    )
    return words[-1] == q and (q, y) in pairs and follows_q and noise_after_q


@settings(max_examples=30, deadline=None)
@given(
    noisy=st.booleans(),
    fillers=st.sampled_from(["neutral", "outputs allowed"]),
    copies=st.integers(1, 3),
    noise_copies=st.integers(0, 3),
    unseen=st.booleans(),
    length=st.integers(14, 30),
    seed=st.integers(0, 10_000),
)
def test_sampled_sentences_satisfy_the_definition(
    noisy: bool, fillers: str, copies: int, noise_copies: int, unseen: bool, length: int, seed: int
) -> None:
    task = Task(16, 3, 3, length, noisy, fillers)  # type: ignore[arg-type]
    sentences = sample_sentences(task, 20, seed, copies, noise_copies, unseen)
    assert not torch.stack(list(violations(sentences, task, unseen).values())).any()
    assert violations(sentences, task, not unseen)["the output is one of O"].all()
    assert all(
        conditions_by_hand(words, q, y, task, unseen)
        for words, q, y in zip(
            sentences.tokens.tolist(), sentences.trigger.tolist(), sentences.output.tolist(), strict=True
        )
    )
    assert (bigram_count(sentences.tokens, sentences.trigger, sentences.output) == copies).all()
    assert (recover_output(sentences.tokens, task) == sentences.output).all()


@settings(max_examples=50, deadline=None)
@given(words=st.lists(st.integers(0, 6), min_size=6, max_size=6), q=st.integers(0, 2), y=st.integers(1, 4))
def test_violations_agree_with_the_definition_read_aloud(words: list[int], q: int, y: int) -> None:
    task = Task(7, 2, 2, 6, noisy=True)
    sentences = Sentences(torch.tensor([words]), torch.tensor([q]), torch.tensor([y]))
    broken = bool(torch.stack(list(violations(sentences, task).values())).any())
    assert broken != conditions_by_hand(words, q, y, task)


def test_every_placement_is_as_likely() -> None:
    """Sentences of eight words with two and with three bigrams, drawn together."""
    task, each = Task(10, 1, 1, 8, noisy=True), 30_000
    copies = torch.tensor([1, 2]).repeat(each)
    sentences = sample_sentences(task, 2 * each, seed=0, copies=copies)
    words = torch.where(sentences.tokens == task.noise_token, 2, (sentences.tokens == sentences.output[:, None]).long())
    seen = (words * 3 ** torch.arange(8)).sum(dim=1)  # where y and τ stand
    for bigrams, placements in ((2, 5 * 4), (3, 4 * 3)):  # ordered pairs of starts; places of one word, and of τ
        counts = torch.unique(seen[copies == bigrams - 1], return_counts=True)[1]
        assert len(counts) == placements
        expected = each / placements
        assert (counts - expected).abs().max() < 5 * expected**0.5


def test_levels_share_their_sentences() -> None:
    task = Task(noisy=True, length=16)
    sentences = sample_sentences(task, 500, seed=1)
    labels = draw_labels(sentences, task, torch.tensor([0.0, 0.3, 0.9], dtype=torch.float64), seed=2)
    is_noise = labels == task.noise_token
    assert not is_noise[0].any()
    assert (is_noise[1] <= is_noise[2]).all()
    assert (labels[~is_noise] == sentences.output.expand(3, -1)[~is_noise]).all()
