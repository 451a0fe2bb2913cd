"""Linear models with FA on a finite sample (Figures 10 to 12, Appendix D.2.2), trained on counts of bigrams."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.allocation import keep_freed_memory
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic, cross_entropy_by
from attention_theory.in_context_reasoning.experiments.bigrams import (
    Bigrams,
    attend,
    count_bigrams,
    layers,
    logits_of,
    slopes,
)
from attention_theory.in_context_reasoning.model import Pass
from attention_theory.in_context_reasoning.scales import Kinds, count_kinds, scale_layers, scale_slope
from attention_theory.in_context_reasoning.task import Sentences, Task, draw_labels, sample_sentences
from attention_theory.in_context_reasoning.training import MEASURES, History, estimated_gammas, measures
from attention_theory.in_context_reasoning.variants import Stack, Training, level_of, stacks
from attention_theory.randomness import Seed, generator, streams
from attention_theory.subnormals import subnormals_as_zero
from attention_theory.validation import Each, refuse_unless, require

#: The models of Figures 10 to 12.
LINEAR = ("Origin-Linear-FA", "Reparam-Linear-W-FA", "Reparam-Linear-FA")


@torch.inference_mode()  # no slope is taken of anything here, and small operations cost less
def train_linear_on_sample(
    runs: list[Training],
    task: Task,
    samples: int,
    passes: int,
    batch: int = 512,
    seed: Seed = 0,
    *,
    evaluation: int = 1024,
    dtype: torch.dtype = torch.float32,
    record_every: int | None = None,
    arithmetic: Arithmetic = "subtraction",
    device: torch.device | str = "cpu",
) -> History:
    """What ``train_on_sample`` does, from the same draws, several times faster: every sentence is counted once.

    The default arithmetic is that of an ordinary training loop.

    Args:
        runs: models with linear attention and FA, of any noise levels above 0 and rates.
        evaluation, record_every, device: as for ``train``.

    Raises:
        ParameterError: another model, fewer sentences than a batch, or a noiseless task.
    """
    refuse_unless(task.noisy, "task must be noisy, got a noiseless one")
    require(samples=(samples, batch, None), passes=(passes, 1, None), evaluation=(evaluation, 1, None))
    require(runs=(Each([run.variant.name for run in runs]), LINEAR))
    levels = sorted({run.noise for run in runs})
    of_sample, of_epochs, of_evaluation = streams(seed, 3)
    draw = generator(of_sample)
    sentences = sample_sentences(task, samples, draw)
    labels = draw_labels(sentences, task, torch.tensor(levels, dtype=torch.float64), draw)
    held_out = _held_out(task, evaluation, of_evaluation, device)
    counted = [_counted(each, task, dtype, device) for each in (sentences, *held_out)]
    group = stacks(runs, task, estimated_gammas(labels, levels, task), 0.0, dtype, device)
    rows = [level_of(stack.runs, levels).to(device) for stack in group]
    next_rows = _Order(samples, batch, of_epochs)
    steps = passes * (samples // batch)
    every, labels = record_every or max(1, steps // 20), labels.to(device)
    marks, records = [], []
    keep_freed_memory()
    for step in range(steps + 1):
        at = next_rows(step).to(device)
        coming, targets = counted[0].pick(at), labels[:, at]
        if step % every == 0 or step == steps:
            marks.append(step)
            records.append(
                [
                    _measure(stack, task, held_out, counted[1:], coming, targets[row])
                    for stack, row in zip(group, rows, strict=True)
                ]
            )
        if step < steps:
            for stack, row in zip(group, rows, strict=True):
                _step(stack, coming, targets[row], arithmetic)
    values = {
        name: torch.stack([torch.cat([part[name] for part in record]) for record in records]).cpu() for name in MEASURES
    }
    return History([run for stack in group for run in stack.runs], marks, values)


class _Order:
    """Which sentences each step takes: all of them in every epoch, in a new order."""

    def __init__(self, samples: int, batch: int, seed: Seed) -> None:
        self.samples, self.batch, self.draw = samples, batch, generator(seed)
        self.order = torch.empty(0, dtype=torch.long)

    def __call__(self, step: int) -> Int[Tensor, " batch"]:
        place = step % (self.samples // self.batch)
        if place == 0:
            self.order = torch.randperm(self.samples, generator=self.draw)
        return self.order[place * self.batch :][: self.batch]


def _held_out(task: Task, count: int, seed: Seed, device: torch.device | str) -> list[Sentences]:
    """Sentences with trained outputs and with others; the streams are those of ``train``."""
    _, of_seen, of_unseen = streams(seed, 3)
    seen, unseen = sample_sentences(task, count, of_seen), sample_sentences(task, count, of_unseen, unseen=True)
    return [seen.to(device), unseen.to(device)]


@dataclass(frozen=True)
class _Counted:
    """What is counted in sentences, for models that train matrices and for those that train scales."""

    bigrams: Bigrams
    kinds: Kinds

    def pick(self, rows: Tensor) -> "_Counted":
        return _Counted(self.bigrams.pick(rows), self.kinds.pick(rows))

    def layers(self, stack: Stack) -> Pass:
        """The logits of both layers."""
        return scale_layers(self.kinds, stack) if stack.trained == "scales" else layers(self.bigrams, stack.weights)


def _counted(sentences: Sentences, task: Task, dtype: torch.dtype, device: torch.device | str) -> _Counted:
    tokens = sentences.tokens.to(device)
    return _Counted(count_bigrams(tokens, task.tokens, dtype), count_kinds(tokens, task, dtype))


def _step(stack: Stack, counted: _Counted, labels: Int[Tensor, "runs batch"], arithmetic: Arithmetic) -> None:
    """One normalised step of every run of a stack."""
    if stack.trained == "scales":
        with subnormals_as_zero():
            slope = scale_slope(counted.kinds, stack, labels, arithmetic)
        stack.step_scales(slope)
        return
    counts = counted.bigrams
    with subnormals_as_zero():
        attended = attend(counts, stack.weights)
        logits = logits_of(counts, stack.weights, attended)
        loss = cross_entropy_by(stack.arithmetics(arithmetic), logits, labels)
        step = slopes(counts, stack.weights, attended, loss.error, stack.trained == "all")
    stack.step(step)


def _measure(
    stack: Stack,
    task: Task,
    held_out: list[Sentences],
    counted: list[_Counted],
    coming: _Counted,
    labels: Int[Tensor, "runs batch"],
) -> dict[str, Float[Tensor, " runs"]]:
    seen, unseen, next_pass = (counts.layers(stack) for counts in (*counted, coming))
    return measures(stack.runs, task, held_out, [seen, unseen], next_pass.logits, labels)
