"""Runs of several seeds side by side: every run has sentences of its own, and one pass takes them all.

With the small batches of a laptop run, most of a training step is spent on calling operations and not in them. So the
seeds of an experiment go through each operation together.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.allocation import keep_freed_memory
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic
from attention_theory.in_context_reasoning.model import Pass
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.in_context_reasoning.training import (
    OUTCOMES,
    Batches,
    History,
    Shared,
    fresh_batches,
    layers_of,
    measures,
    side_by_side,
    take_step,
)
from attention_theory.in_context_reasoning.variants import VARIANTS, Stack, Training, level_of, stacks
from attention_theory.randomness import Seed, streams
from attention_theory.validation import Each, require, require_some


def train_grid_seeds(
    names: Sequence[str],
    task: Task,
    levels: Sequence[float],
    rates: Sequence[float],
    steps: int,
    batch: int,
    seeds: Sequence[Seed],
    *,
    arithmetic: Arithmetic = "subtraction",
    exact: Sequence[str] = (),
    dtype: torch.dtype = torch.float32,
    evaluation: int = 1024,
    record_every: int = 10,
    measured: Sequence[str] = OUTCOMES,
    device: torch.device | str = "cpu",
) -> list[History]:
    """What :func:`train_grid` gives at each seed, from the same draws, with the seeds side by side (Section 5).

    Every seed has its own sentences, to train on and to be measured on, and its models share them. Slopes are computed
    by subtraction in float32 unless another arithmetic is asked for, as in an ordinary training loop.

    Args:
        task: gives the sizes and the fillers; noise level 0 is the noiseless task, the rest the noisy one.
        exact: names that are run in the log domain as well, as for :func:`train_grid`.
        evaluation: sentences in each of the two evaluation sets of a seed.
        record_every: measure every so many steps, and at the end.
        measured: which measures to take; what figures of losses need unless given.
        device: where the models are; what is measured comes back to the CPU.

    Raises:
        ParameterError: a name that is none of the models, no seed, or a number out of range.
    """
    require(names=(Each([*names, *exact]), VARIANTS), record_every=(record_every, 1, None))
    require_some(seeds=seeds)
    require(steps=(steps, 1, None), batch=(batch, 1, None), evaluation=(evaluation, 1, None))
    ways: list[tuple[str, Arithmetic | None]] = [(name, None) for name in names]
    ways += [(name, "log-domain") for name in exact]
    parts = []
    for noisy in (False, True):
        noise = sorted({level for level in levels if (level > 0) == noisy})
        if noise:
            of_kind = replace(task, noisy=noisy)
            runs = [
                Training(VARIANTS[name], level, rate, own) for name, own in ways for level in noise for rate in rates
            ]
            batches = partial(fresh_batches, of_kind, noise, batch)
            sources = [_Source(of_kind, seed, evaluation, device, batches) for seed in seeds]
            parts.append(_train(runs, of_kind, sources, steps, arithmetic, dtype, record_every, measured, device))
    return [side_by_side(list(of_seed)) for of_seed in zip(*parts, strict=True)]


@torch.inference_mode()  # no slope is taken of anything here, and small operations cost less
def _train(
    runs: list[Training],
    task: Task,
    sources: "list[_Source]",
    steps: int,
    arithmetic: Arithmetic,
    dtype: torch.dtype,
    record_every: int,
    measured: Sequence[str],
    device: torch.device | str,
) -> list[History]:
    """The history of each source's runs."""
    seeds, levels = len(sources), sorted({run.noise for run in runs})
    group = [_repeated(stack.runs, task, seeds, dtype, device) for stack in stacks(runs, task)]
    rows = [level_of(stack.runs[::seeds], levels).to(device) for stack in group]
    held_out = [
        Shared(torch.stack([source.held_out[kind].tokens for source in sources]), task, dtype) for kind in range(2)
    ]
    marks, records = [], []
    keep_freed_memory()
    for step in range(steps + 1):
        batches = [source.batches(step) for source in sources]
        coming = Shared(torch.stack([sentences.tokens.to(device) for sentences, _ in batches]), task, dtype)
        labels = torch.stack([labels for _, labels in batches], dim=1).to(device)
        if step % record_every == 0 or step == steps:
            marks.append(step)
            records.append(_measure(group, task, sources, held_out, coming, labels[torch.cat(rows)], measured))
        if step < steps:
            for stack, row in zip(group, rows, strict=True):
                take_step(stack, coming, labels[row].flatten(0, 1), arithmetic)
    of_one = [run for stack in group for run in stack.runs[::seeds]]
    return [_history(of_one, marks, [record[index] for record in records]) for index in range(seeds)]


class _Source:
    """The sentences of one seed; the streams are those of ``train``."""

    def __init__(
        self, task: Task, seed: Seed, evaluation: int, device: torch.device | str, batches: Callable[[Seed], Batches]
    ) -> None:
        of_batches, of_seen, of_unseen = streams(seed, 3)
        self.batches = batches(of_batches)
        seen, unseen = (
            sample_sentences(task, evaluation, one, unseen=one is of_unseen) for one in (of_seen, of_unseen)
        )
        self.held_out = [seen.to(device), unseen.to(device)]


def _repeated(runs: list[Training], task: Task, seeds: int, dtype: torch.dtype, device: torch.device | str) -> Stack:
    """A stack in which every run stands once for each seed: the seeds of the first, those of the second, ..."""
    return Stack([run for run in runs for _ in range(seeds)], task, None, 1e-8, dtype, device, seeds)


def _measure(
    group: list[Stack],
    task: Task,
    sources: list[_Source],
    held_out: list[Shared],
    coming: Shared,
    labels: Int[Tensor, "runs seeds batch"],
    measured: Sequence[str],
) -> list[dict[str, Tensor]]:
    """The measures of each seed's runs, all stacks together."""
    seeds = len(sources)
    runs = [run for stack in group for run in stack.runs[::seeds]]
    seen, unseen = (layers_of(sentences, group) for sentences in held_out)
    logits = layers_of(coming, group).logits if "labels" in measured else None
    found = []
    for index, source in enumerate(sources):
        mine = slice(index, None, seeds)  # every stack is a multiple of the seeds
        layers = [_of(one, mine) for one in (seen, unseen)]
        own = None if logits is None else logits[mine]
        found.append(measures(runs, task, source.held_out, layers, own, labels[:, index], measured))
    return found


def _of(done: Pass, runs: slice) -> Pass:
    """The logits of some of the runs."""
    return Pass(done.scores, done.weights, done.attended[runs], done.attention[runs], done.feed_forward[runs])


def _history(runs: list[Training], marks: list[int], records: list[dict[str, Tensor]]) -> History:
    """One seed's part of all records."""
    return History(runs, marks, {name: torch.stack([record[name] for record in records]).cpu() for name in records[0]})
