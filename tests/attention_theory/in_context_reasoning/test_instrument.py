from typing import Any

import pytest
import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, odds, probabilities
from attention_theory.in_context_reasoning.cross_entropy import expected_loss
from attention_theory.in_context_reasoning.instrument import (
    _MODELS,
    _NOISES,
    _SCALE_NOISES,
    _TIMES,
    _UNIT,
    _WORDS,
    _scale_path,
    _trained_matrices,
    reading_sentences,
    reading_task,
    trained_table,
    weights_at,
)
from attention_theory.in_context_reasoning.model import Architecture, forward
from attention_theory.in_context_reasoning.task import bigram_count, sample_sentences
from attention_theory.randomness import generator, streams


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    return trained_table()


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_scale_grows_by_the_rate_at_every_step(noise: float) -> None:
    alpha, gamma, scales = _scale_path(noise, [0, 1, 7, 40], 0.1, 500, 3)
    assert scales == pytest.approx([0, 0.1, 0.7, 4.0], abs=1e-12)
    assert abs(alpha - noise) < 0.08
    assert gamma == (odds(alpha) if noise else 0.0)


def test_weights_read_back_are_the_trained_ones_to_half_a_unit(table: dict[str, Any]) -> None:
    _, of_matrices = streams(0, 2)
    for trained in ("query-key", "all"):
        whole = _trained_matrices(_MODELS[trained], _NOISES[1:], _TIMES[:5], 0.1, of_matrices)
        for column, time in enumerate(_TIMES[:5]):
            for row, noise in enumerate(_NOISES[1:]):
                kept = weights_at(table, trained, noise, time)
                for ours, theirs in zip(kept.matrices, whole[column].matrices, strict=True):
                    assert (ours - theirs[row]).abs().max() <= _UNIT / 2 + 1e-12


def test_one_number_gives_the_probabilities_in_closed_form(table: dict[str, Any]) -> None:
    part = table["models"]["scales"]
    sentences = reading_sentences(reading_task(True), 50, generator(2))
    counts = bigram_count(sentences.tokens, sentences.trigger, sentences.output)
    for noise in _SCALE_NOISES[1:]:
        row, column = part["noises"].index(noise), part["times"].index(30)
        done = forward(sentences.tokens, weights_at(table, "scales", noise, 30), Architecture()).logits.softmax(dim=-1)
        scale = torch.tensor(part["scales"][row][column], dtype=torch.float64)
        expected = probabilities(scale, part["gammas"][row], counts, len(_WORDS) - 2)
        assert (done[torch.arange(50), sentences.output] - expected[:, 0]).abs().max() <= 1e-12
        assert (done[:, -1] - expected[:, 1]).abs().max() <= 1e-12


@pytest.mark.parametrize("noise", _NOISES)
def test_training_ends_near_the_bayes_risk_and_only_lemmas_read_unseen_words(
    table: dict[str, Any], noise: float
) -> None:
    """What the page says: the loss falls for all three, and rises on unseen answers where all matrices are trained."""
    task, draw = reading_task(noise > 0), generator(5)
    seen, unseen = reading_sentences(task, 400, draw), sample_sentences(task, 400, draw, unseen=True)

    def excess(trained: str, time: int, sentences: Any) -> float:
        logits = forward(sentences.tokens, weights_at(table, trained, noise, time), Architecture()).logits
        return expected_loss(logits, sentences.output, task.noise_token, noise).mean().item() - bayes_risk(noise)

    for trained in _MODELS:
        assert excess(trained, 200, seen) < min(0.15, excess(trained, 0, seen) / 5)
    assert excess("scales", 200, unseen) < 0.001
    assert excess("query-key", 200, unseen) < excess("query-key", 0, unseen) / 3
    assert excess("all", 200, unseen) > max(1.0, excess("all", 10, seen))
