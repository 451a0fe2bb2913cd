"""Training side by side: a run is the same by itself, measures are what they say, batches go where they should."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from attention_theory.in_context_reasoning.batches import _BLOCK, Shared, epochs, fresh_batches
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic
from attention_theory.in_context_reasoning.history import MEASURES, History
from attention_theory.in_context_reasoning.task import (
    Sentences,
    Task,
    draw_labels,
    recover_output,
    sample_sentences,
    violations,
)
from attention_theory.in_context_reasoning.training import train, train_grid
from attention_theory.in_context_reasoning.variants import TABLE_1, VARIANTS, TrainingRun

TASK = Task(14, 2, 3, 16, noisy=True)
ARITHMETICS: tuple[Arithmetic, Arithmetic] = ("log-domain", "subtraction")


def assert_same_runs(found: History, alone: History, within: float) -> None:
    """Whatever was measured of the runs that were trained alone is the same in company."""
    assert found.steps == alone.steps
    for run in alone.runs:
        for measure in found.values:
            which = (measure, run.variant.name, run.noise, run.lr)
            assert (found.curve(*which) - alone.curve(*which)).abs().max() < within, which


def test_runs_are_the_same_alone_and_in_company() -> None:
    """The models of the table at two levels and rates, and in both arithmetics; and a second time to the bit."""
    options: dict[str, Any] = {"batch": 8, "evaluation": 8, "record_every": 4}
    runs = [TrainingRun(VARIANTS[name], noise, rate) for name in TABLE_1 for noise in (0.2, 0.8) for rate in (0.1, 0.5)]
    both = [replace(run, arithmetic=arithmetic) for run in runs for arithmetic in ARITHMETICS]
    together = train(both, TASK, 12, **options)
    assert together.steps == [0, 4, 8, 12]
    for arithmetic in ARITHMETICS:
        for run in (runs[0], runs[21], runs[-1]):
            alone = train([run], TASK, 12, arithmetic=arithmetic, **options)
            assert_same_runs(together.with_arithmetic(arithmetic), alone, 1e-8)
    again = train(both, TASK, 12, **options)
    assert all(torch.equal(together.values[name], again.values[name]) for name in MEASURES)


@pytest.mark.parametrize(
    ("arithmetic", "together"), [("subtraction", True), ("log-domain", True), ("subtraction", False)]
)
def test_seeds_and_both_tasks_side_by_side_are_runs_one_after_the_other(arithmetic: Arithmetic, together: bool) -> None:
    names = ["Reparam-Linear-FA", "Reparam-ReLU-W-FA", "Origin-Linear-F", "Origin-Linear-FA", "Origin-Softmax-F"]
    options: dict[str, Any] = {"arithmetic": arithmetic, "evaluation": 12, "record_every": 10}
    exact: dict[str, Any] = {"dtype": torch.float64, "measured": MEASURES, "together": together}
    grid = train_grid(names, TASK, [0.0, 0.8], [0.1, 0.5], _BLOCK + 5, 8, [3, 5], **options, **exact)
    for seed, found in zip((3, 5), grid, strict=True):
        for noise in (0.0, 0.8):
            runs = [TrainingRun(VARIANTS[name], noise, rate) for name in names for rate in (0.1, 0.5)]
            alone = train(runs, replace(TASK, noisy=noise > 0), _BLOCK + 5, 8, seed, **options)
            assert_same_runs(found, alone, 1e-9)


def test_an_epoch_visits_every_sentence_once() -> None:
    sentences = sample_sentences(TASK, 24, seed=0)
    labels = draw_labels(sentences, TASK, torch.tensor([0.3], dtype=torch.float64), seed=1)
    batches = epochs(Shared(sentences.tokens, TASK, torch.float64), labels, 8, seed=2)
    first, second = ([batches(3 * epoch + step) for step in range(3)] for epoch in range(2))
    for epoch in (first, second):
        seen = torch.cat([part.tokens for part, _ in epoch])
        assert sorted(map(tuple, seen.tolist())) == sorted(map(tuple, sentences.tokens.tolist()))
    assert not torch.equal(first[0][0].tokens, second[0][0].tokens)


def test_fresh_batches_are_new_sentences_at_every_step() -> None:
    next_batch = fresh_batches(TASK, [0.5, 0.9], 8, 0)
    drawn = [next_batch(step) for step in range(2 * _BLOCK)]
    assert len({sentences.tokens.numpy().tobytes() for sentences, _ in drawn}) == 2 * _BLOCK
    for sentences, labels in drawn:
        assert sentences.tokens.shape == (8, TASK.length)
        found = Sentences(sentences.tokens, sentences.tokens[:, -1], recover_output(sentences.tokens, TASK))
        assert not any(broken.any() for broken in violations(found, TASK).values())
        assert ((labels == found.output) | (labels == TASK.noise_token)).all()
    shares = torch.cat([labels for _, labels in drawn], dim=1).eq(TASK.noise_token).double().mean(dim=1)
    assert (shares - torch.tensor([0.5, 0.9])).abs().max() < 0.1


def test_a_batch_in_pieces_is_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """In both arithmetics, at a loss small enough that the pieces have scales far apart in the log domain."""
    runs = [TrainingRun(VARIANTS[name], 0.0, 0.5) for name in ("Origin-ReLU-FA", "Reparam-Linear-W-FA")]
    task = Task(14, 2, 3, 16)
    for arithmetic in ARITHMETICS:
        whole = train(runs, task, 30, batch=24, evaluation=16, arithmetic=arithmetic)
        with monkeypatch.context() as patch:
            patch.setattr("attention_theory.in_context_reasoning.batches._CHUNK", 7)
            pieces = train(runs, task, 30, batch=24, evaluation=16, arithmetic=arithmetic)
        for measure in MEASURES:
            assert (whole.values[measure] - pieces.values[measure]).abs().max() < 1e-8
