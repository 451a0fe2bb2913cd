"""Training on counts against training on sentences, from the same draws."""

import subprocess
import sys
from typing import Any

import pytest
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


#: A short training in both precisions, and the bits of all that it measures.
RERUN = """
import hashlib, torch
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train_on_sample
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun
torch.set_num_threads(1)
names = ("Origin-Linear-FA", "Reparam-Linear-W-FA", "Reparam-Linear-FA")
runs, bits = [TrainingRun(VARIANTS[name], 0.5, 0.1) for name in names], hashlib.sha256()
for dtype in (torch.float32, torch.float64):
    task, options = Task(30, length=40, noisy=True), {"evaluation": 64, "dtype": dtype, "counted": True}
    history = train_on_sample(runs, task, 256, 10, 64, 1, **options)
    for name, values in sorted(history.values.items()):
        bits.update(values.contiguous().numpy().tobytes())
print(bits.hexdigest())
"""


@pytest.mark.slow
def test_a_second_run_in_another_process_gives_the_same_bits() -> None:
    """The sparse product may sum in any order that it likes, but in the same one every time."""
    found = {
        subprocess.run([sys.executable, "-c", RERUN], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(found) == 1
    assert len(found.pop().strip()) == 64
