"""Seeds side by side against one after the other."""

from typing import Any

import pytest
import torch

from attention_theory.in_context_reasoning.batches import _BLOCK
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic
from attention_theory.in_context_reasoning.history import MEASURES
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train, train_grid
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun

NAMES = ["Reparam-Linear-FA", "Reparam-ReLU-W-FA", "Origin-Linear-F", "Origin-Linear-FA", "Origin-Softmax-F"]
STEPS = _BLOCK + 5


@pytest.mark.parametrize("noise", [0.0, 0.8])
@pytest.mark.parametrize("arithmetic", ["subtraction", "log-domain"])
def test_seeds_side_by_side_are_runs_one_after_the_other(noise: float, arithmetic: Arithmetic) -> None:
    task = Task(14, 2, 3, 16, noisy=noise > 0)
    runs = [TrainingRun(VARIANTS[name], noise, 0.1) for name in NAMES]
    options: dict[str, Any] = {"arithmetic": arithmetic, "dtype": torch.float64, "evaluation": 12, "measured": MEASURES}
    together = train_grid(NAMES, task, [noise], [0.1], STEPS, 8, [3, 5], **options, record_every=10, together=True)
    for seed, found in zip((3, 5), together, strict=True):
        alone = train(runs, task, STEPS, 8, seed, arithmetic=arithmetic, evaluation=12, record_every=10)
        assert found.steps == alone.steps
        for name in NAMES:
            for measure in MEASURES:
                one, other = (each.curve(measure, name, noise, 0.1) for each in (found, alone))
                assert (one - other).abs().max() < 1e-9, (name, measure)
