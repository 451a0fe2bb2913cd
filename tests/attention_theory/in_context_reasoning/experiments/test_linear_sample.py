"""Training on counts against training on sentences, from the same draws."""

from typing import Any

import pytest
import torch

from attention_theory.in_context_reasoning.experiments.linear_sample import LINEAR, train_linear_on_sample
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import MEASURES, train_on_sample
from attention_theory.in_context_reasoning.variants import VARIANTS, Training
from attention_theory.validation import ParameterError

TASK = Task(14, 2, 3, 16, noisy=True)


def test_training_on_counts_is_training_on_sentences() -> None:
    runs = [Training(VARIANTS[name], alpha, 0.1) for name in LINEAR for alpha in (0.2, 0.8)]
    options: dict[str, Any] = {"evaluation": 24, "dtype": torch.float64, "record_every": 4}
    fast = train_linear_on_sample(runs, TASK, 64, 5, 16, 3, arithmetic="subtraction", **options)
    slow = train_on_sample(runs, TASK, 64, 5, 16, 3, arithmetic="subtraction", **options)
    assert fast.steps == slow.steps
    assert [run.variant.name for run in fast.runs] == [run.variant.name for run in slow.runs]
    for measure in MEASURES:
        assert (fast.values[measure] - slow.values[measure]).abs().max() < 1e-9


def test_other_models_are_refused() -> None:
    with pytest.raises(ParameterError, match="models"):
        train_linear_on_sample([Training(VARIANTS["Origin-ReLU-FA"], 0.2, 0.1)], TASK, 64, 1, 16)
    with pytest.raises(ParameterError, match="samples"):
        train_linear_on_sample([Training(VARIANTS[LINEAR[0]], 0.2, 0.1)], TASK, 8, 1, 16)
    with pytest.raises(ParameterError, match="noisy"):
        train_linear_on_sample([Training(VARIANTS[LINEAR[0]], 0.2, 0.1)], Task(14, 2, 3, 16), 64, 1, 16)
