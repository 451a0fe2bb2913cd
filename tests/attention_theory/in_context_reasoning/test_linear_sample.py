"""Training on counts against training on sentences, from the same draws."""

from typing import Any

import torch

from attention_theory.in_context_reasoning.history import MEASURES
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train_on_sample
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun

TASK = Task(14, 2, 3, 16, noisy=True)
LINEAR = ("Origin-Linear-FA", "Reparam-Linear-W-FA", "Reparam-Linear-FA")


def test_training_on_counts_is_training_on_sentences() -> None:
    runs = [TrainingRun(VARIANTS[name], alpha, 0.1) for name in LINEAR for alpha in (0.2, 0.8)]
    options: dict[str, Any] = {"evaluation": 24, "dtype": torch.float64, "record_every": 4}
    fast = train_on_sample(runs, TASK, 64, 5, 16, 3, counted=True, **options)
    slow = train_on_sample(runs, TASK, 64, 5, 16, 3, **options)
    assert fast.steps == slow.steps
    assert [run.variant.name for run in fast.runs] == [run.variant.name for run in slow.runs]
    for measure in MEASURES:
        assert (fast.values[measure] - slow.values[measure]).abs().max() < 1e-9
