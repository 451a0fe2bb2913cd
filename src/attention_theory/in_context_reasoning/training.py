"""Training the models of Section 5: every run sees the same sentences, step for step."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.allocation import keep_freed_memory
from attention_theory.in_context_reasoning.batches import Batches, Counted, Shared, epochs, fresh_batches
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic
from attention_theory.in_context_reasoning.history import MEASURES, History, measures
from attention_theory.in_context_reasoning.model import LayerLogits
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.in_context_reasoning.variants import HALF_FIXED, VARIANTS, Stack, TrainingRun, stacks
from attention_theory.randomness import Seed, generator, streams
from attention_theory.validation import Each, refuse_unless, require, require_some

#: The models that can be trained on counts of bigrams.
_LINEAR = ("Origin-Linear-FA", "Reparam-Linear-W-FA", "Reparam-Linear-FA", *HALF_FIXED)


def train(
    runs: list[TrainingRun],
    task: Task,
    steps: int,
    batch: int = 512,
    seed: Seed = 0,
    *,
    arithmetic: Arithmetic = "log-domain",
    dtype: torch.dtype = torch.float64,
    relu_shift: float = 1e-8,
    evaluation: int = 1024,
    record_every: int | None = None,
    measured: Sequence[str] = MEASURES,
    device: torch.device | str = "cpu",
) -> History:
    """Normalised gradient descent from zero on every run, on fresh sentences at each step (Section 5).

    Args:
        runs: models, noise levels and rates; all of one task.
        arithmetic: how the loss's gradient is computed in runs that do not state it.
        relu_shift: see :class:`Architecture`.
        evaluation: sentences in each of the two evaluation sets.
        record_every: measure every so many steps, and at the end; a twentieth of the steps unless given.
        measured: which of :data:`MEASURES` to take.
        device: where the models are; sentences are drawn on the CPU and moved, and what is measured comes back to it.

    Raises:
        ParameterError: a noise level that the task does not know, no such measure, or a number out of range.
    """
    require(steps=(steps, 1, None), batch=(batch, 1, None))
    of_batches, *of_evaluation = streams(seed, 3)
    batches = fresh_batches(task, _levels(runs), batch, of_batches, dtype, device)
    held_out = _HeldOut(task, evaluation, [of_evaluation], dtype, device)
    group = stacks(runs, task, None, relu_shift, dtype, device)
    return _descend(group, steps, batches, held_out, record_every, arithmetic, measured)[0]


def _train_together(
    runs: list[TrainingRun],
    task: Task,
    steps: int,
    batch: int,
    seeds: Sequence[Seed],
    arithmetic: Arithmetic,
    dtype: torch.dtype,
    evaluation: int,
    record_every: int | None,
    measured: Sequence[str],
    device: torch.device | str,
) -> list[History]:
    """The history that :func:`train` gives at each seed, from the same draws, with the sentences of seeds as sets."""
    require(steps=(steps, 1, None), batch=(batch, 1, None))
    of_batches, *of_evaluation = zip(*(streams(seed, 3) for seed in seeds), strict=True)
    sources = [fresh_batches(task, _levels(runs), batch, seed, dtype, device) for seed in of_batches]
    held_out = _HeldOut(task, evaluation, list(zip(*of_evaluation, strict=True)), dtype, device, sets=True)
    group = stacks(runs, task, None, 1e-8, dtype, device, len(seeds))
    return _descend(group, steps, _as_sets(sources, task, dtype), held_out, record_every, arithmetic, measured)


def train_on_sample(
    runs: list[TrainingRun],
    task: Task,
    samples: int,
    passes: int,
    batch: int = 512,
    seed: Seed = 0,
    *,
    counted: bool = False,
    evaluation: int = 1024,
    dtype: torch.dtype = torch.float32,
    record_every: int | None = None,
    arithmetic: Arithmetic = "subtraction",
    device: torch.device | str = "cpu",
) -> History:
    """The descent of :func:`train` on ``samples`` labelled sentences, ``passes`` times over (Section 5.3).

    The γ̂ of the reparameterised models comes from the labels. Type and arithmetic are those of an ordinary loop.

    Args:
        counted: train linear models with FA on counts of bigrams, several times faster; sums are in another order.

    Raises:
        ParameterError: fewer sentences than a batch, a noiseless task, or a model that cannot be trained on counts.
    """
    refuse_unless(task.noisy, "task must be noisy, got a noiseless one")
    require(samples=(samples, batch, None), passes=(passes, 1, None))
    if counted:
        require(runs=(Each([run.variant.name for run in runs]), _LINEAR))
    levels, kind = _levels(runs), Counted if counted else Shared
    of_sample, of_epochs, of_evaluation = streams(seed, 3)
    draw = generator(of_sample)
    sentences = sample_sentences(task, samples, draw)
    labels = draw_labels(sentences, task, torch.tensor(levels, dtype=torch.float64), draw)
    shares = (labels == task.noise_token).double().mean(dim=1).tolist()
    gammas = {level: odds(share) for level, share in zip(levels, shares, strict=True)}
    batches = epochs(kind(sentences.tokens.to(device), task, dtype), labels.to(device), batch, of_epochs)
    group = stacks(runs, task, gammas, 1e-8, dtype, device)
    held_out = _HeldOut(task, evaluation, [streams(of_evaluation, 3)[1:]], dtype, device, kind)
    steps = passes * (samples // batch)
    return _descend(group, steps, batches, held_out, record_every, arithmetic, MEASURES)[0]


def train_grid(
    names: Sequence[str],
    task: Task,
    levels: Sequence[float],
    lrs: Sequence[float],
    steps: int,
    batch: int,
    seeds: Sequence[Seed],
    *,
    together: bool = False,
    arithmetic: Arithmetic = "subtraction",
    exact: Sequence[str] = (),
    dtype: torch.dtype = torch.float32,
    evaluation: int = 1024,
    record_every: int | None = None,
    measured: Sequence[str] = ("population", "unseen", "p_output", "p_noise"),
    device: torch.device | str = "cpu",
) -> list[History]:
    """Every named model at every noise level and rate, once per seed, in float32 as the paper trains them (Section 5).

    Noise level 0 is the noiseless task, with all triggers and no noise token, and the rest is the noisy one; ``task``
    gives the sizes and the fillers of both. Every seed has its sentences, to train on and to be measured on.

    Args:
        together: the seeds go through each operation together, which is faster with small batches; sums are in another
            order.
        arithmetic: by subtraction as an ordinary training loop computes gradients, or in the log domain.
        exact: names that are also run in the log domain, on the same sentences; these runs are
            ``with_arithmetic("log-domain")`` of a history.
        evaluation, record_every, measured, device: as for :func:`train`; what the cells need is measured unless given.

    Raises:
        ParameterError: a name that is none of the models, no seed, or a number out of range.
    """
    require(names=(Each([*names, *exact]), VARIANTS))
    require_some(seeds=seeds)
    ways: list[tuple[str, Arithmetic | None]] = [(name, None) for name in names]
    ways += [(name, "log-domain") for name in exact]
    parts = []
    for noisy in (False, True):
        noise = [level for level in levels if (level > 0) == noisy]
        runs = [TrainingRun(VARIANTS[name], level, rate, way) for name, way in ways for level in noise for rate in lrs]
        of_kind = replace(task, noisy=noisy)
        if runs and together:
            sizes = evaluation, record_every, measured, device
            parts.append(_train_together(runs, of_kind, steps, batch, seeds, arithmetic, dtype, *sizes))
        elif runs:
            options: dict[str, Any] = {"evaluation": evaluation, "record_every": record_every, "measured": measured}
            options |= {"arithmetic": arithmetic, "dtype": dtype, "device": device}
            parts.append([train(runs, of_kind, steps, batch, seed, **options) for seed in seeds])
    return [History.side_by_side(of_seed) for of_seed in zip(*parts, strict=True)]


def _levels(runs: list[TrainingRun]) -> list[float]:
    return sorted({run.noise for run in runs})


def _as_sets(sources: Sequence[Batches], task: Task, dtype: torch.dtype) -> Batches:
    """The batches of several sources as sets."""

    def next_batch(step: int) -> tuple[Shared, Int[Tensor, "levels sets batch"]]:
        sentences, labels = zip(*(source(step) for source in sources), strict=True)
        return Shared(torch.stack([each.tokens for each in sentences]), task, dtype), torch.stack(labels, dim=1)

    return next_batch


class _HeldOut:
    """Evaluation sentences of every seed, those with trained outputs and those with others, and what runs make of them.

    Args:
        seeds: a pair for each seed.
        sets: whether the sentences are taken as sets, or are those of the only seed.
    """

    def __init__(
        self,
        task: Task,
        evaluation: int,
        seeds: Sequence[Sequence[Seed]],
        dtype: torch.dtype,
        device: torch.device | str,
        kind: type[Shared] = Shared,
        sets: bool = False,
    ) -> None:
        require(evaluation=(evaluation, 1, None))
        self.task = task
        self.sentences = [
            [
                sample_sentences(task, evaluation, of_seen).to(device),
                sample_sentences(task, evaluation, of_unseen, unseen=True).to(device),
            ]
            for of_seen, of_unseen in seeds
        ]
        tokens = [[each.tokens for each in of_kind] for of_kind in zip(*self.sentences, strict=True)]
        self.shared = [kind(torch.stack(each) if sets else each[0], task, dtype) for each in tokens]

    def measure(
        self, group: list[Stack], coming: Shared, labels: Int[Tensor, "runs *sets batch"], measured: Sequence[str]
    ) -> list[dict[str, Float[Tensor, " runs"]]]:
        """The measures of each seed's runs, all stacks together: small operations cost least when they are few."""
        runs, seeds = _of_one_set(group), len(self.sentences)
        passes = [sentences.layers(group) for sentences in self.shared]
        logits = coming.layers(group).logits if "labels" in measured else None
        records = []
        for index, sentences in enumerate(self.sentences):
            mine = slice(index, None, seeds)  # every stack is a multiple of the seeds
            layers = [LayerLogits(each.attention[mine], each.feed_forward[mine]) for each in passes]
            of_coming = None if logits is None else logits[mine]
            targets = labels if labels.ndim == 2 else labels[:, index]
            records.append(measures(runs, self.task, sentences, layers, of_coming, targets, measured))
        return records


def _of_one_set(group: list[Stack]) -> list[TrainingRun]:
    return [run for stack in group for run in stack.runs[:: stack.sets]]


@torch.inference_mode()  # no gradient is taken of anything here, and small operations cost less
def _descend(
    group: list[Stack],
    steps: int,
    batches: Batches,
    held_out: _HeldOut,
    record_every: int | None,
    arithmetic: Arithmetic,
    measured: Sequence[str],
) -> list[History]:
    """The history of each seed's runs."""
    require(measured=(Each(measured), MEASURES))
    levels = _levels(_of_one_set(group))
    rows = [stack.rows(levels) for stack in group]
    every = max(1, steps // 20) if record_every is None else record_every
    require(record_every=(every, 1, None))
    marks, records = [], []
    keep_freed_memory()
    for step in range(steps + 1):
        coming, labels = batches(step)
        if step % every == 0 or step == steps:
            marks.append(step)
            records.append(held_out.measure(group, coming, labels[torch.cat(rows)], measured))
        if step < steps:
            for stack, row in zip(group, rows, strict=True):
                coming.step(stack, labels[row].flatten(0, -2), arithmetic)
    return [
        History(
            _of_one_set(group), marks, {name: torch.stack([each[name] for each in of_seed]).cpu() for name in measured}
        )
        for of_seed in zip(*records, strict=True)
    ]
