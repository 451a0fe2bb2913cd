"""Training the models of Section 5 side by side: every run sees the same sentences, step for step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.allocation import keep_freed_memory
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.cross_entropy import (
    Arithmetic,
    cross_entropy,
    cross_entropy_by,
    expected_loss,
)
from attention_theory.in_context_reasoning.finite_sample import separated
from attention_theory.in_context_reasoning.model import Pass, Weights, attend, forward, gradients, logits_of
from attention_theory.in_context_reasoning.places import Places, Sorted, sort_positions
from attention_theory.in_context_reasoning.scales import Kinds, count_kinds, scale_layers, scale_slope
from attention_theory.in_context_reasoning.task import Sentences, Task, draw_labels, sample_sentences
from attention_theory.in_context_reasoning.variants import Stack, Training, level_of, stacks
from attention_theory.randomness import Seed, generator, streams
from attention_theory.subnormals import subnormals_as_zero
from attention_theory.validation import Each, ParameterError, refuse_unless, require

#: Sentences taken at once: what is worked out for so many stays near the processor.
CHUNK = 256

#: Steps whose sentences are drawn at once.
BLOCK = 25

#: What is measured at each record, each an average over the evaluation sentences.
MEASURES = (
    "population",  # loss over the label's law, sentences with the trained outputs
    "unseen",  # the same, sentences with words that were never outputs
    "labels",  # loss on the sentences and labels of the coming step, before it is taken
    "p_output",  # probability of the output word, unseen sentences
    "p_noise",  # probability of τ, unseen sentences
    "attention_output",  # ξ_A at the output word
    "attention_largest",  # the largest of ξ_A
    "feed_forward_noise",  # ξ_F at τ
    "feed_forward_largest",  # the largest of ξ_F
    "attention_hits",  # share of sentences whose largest ξ_A is at the output word
    "feed_forward_hits",  # share of sentences whose largest ξ_F is at τ
    "separated",  # share of sentences that satisfy condition (8)
)

#: Those that most figures need. Taking these alone saves one pass of three over sentences, and more.
OUTCOMES = ("population", "unseen", "p_output", "p_noise")


@dataclass(frozen=True)
class History:
    """Every run's measures over time (Figures 1 to 12): ``values[measure]`` has a row a record and a column a run."""

    runs: list[Training]
    steps: list[int]
    values: dict[str, Float[Tensor, "records runs"]]

    def of(self, measure: str, name: str, noise: float, rate: float) -> Float[Tensor, " records"]:
        """One measure of one run over time, by the model's name, its noise level and its rate.

        Raises:
            ParameterError: no such run, or a measure that there is not or that was not taken.
        """
        wanted = _describe(name, noise, rate)
        require(measure=(measure, self.values))
        refuse_unless(
            wanted in self._columns,
            f"name, noise and rate must be of a run, one of {list(self._columns)}, got {wanted}",
        )
        return self.values[measure][:, self._columns[wanted]]

    @cached_property
    def _columns(self) -> dict[str, int]:
        names = [_describe(run.variant.name, run.noise, run.rate, run.arithmetic) for run in self.runs]
        return {name: index for index, name in reversed(list(enumerate(names)))}  # the first of those with one name

    def with_arithmetic(self, arithmetic: Arithmetic) -> "History":
        """The runs that had this arithmetic of their own, which :meth:`of` then finds."""
        kept = [index for index, run in enumerate(self.runs) if run.arithmetic == arithmetic]
        runs = [replace(self.runs[index], arithmetic=None) for index in kept]
        return History(runs, self.steps, {name: values[:, kept] for name, values in self.values.items()})

    def before(self) -> "History":
        """The first record alone: the models before any step."""
        return History(self.runs, self.steps[:1], {name: values[:1] for name, values in self.values.items()})

    def end(self, measure: str, name: str, noise: float, rate: float) -> float:
        """Where a measure ends: its mean over the last quarter of the records, which steadies the steps' jitter."""
        series = self.of(measure, name, noise, rate)
        return series[-max(1, len(series) // 4) :].mean().item()


def mean_history(histories: list[History]) -> History:
    """The average over seeds of histories of the same runs."""
    first = histories[0]
    values = {name: torch.stack([each.values[name] for each in histories]).mean(dim=0) for name in first.values}
    return History(first.runs, first.steps, values)


def side_by_side(histories: list[History]) -> History:
    """The runs of several histories as one; all must have been measured at the same steps.

    Raises:
        ParameterError: they were not.
    """
    first = histories[0]
    if any(each.steps != first.steps for each in histories):
        raise ParameterError("histories must have been measured at the same steps")
    runs = [run for each in histories for run in each.runs]
    values = {name: torch.cat([each.values[name] for each in histories], dim=1) for name in first.values}
    return History(runs, first.steps, values)


class Shared:
    """Sentences, or sets of them, with what stacks share that are trained or measured on them."""

    def __init__(self, tokens: Int[Tensor, "*sets sentences length"], task: Task, dtype: torch.dtype) -> None:
        self.tokens, self._task, self._dtype = tokens, task, dtype

    @cached_property
    def places(self) -> list[Places]:
        """The places of the sentences; a single set is taken in pieces."""
        if self.tokens.ndim == 3:
            return [Places(self.tokens, self._task.tokens)]
        pieces = [slice(first, first + CHUNK) for first in range(0, len(self.tokens), CHUNK)]
        return [Places(self.tokens[piece], self._task.tokens, sort=self._sort_of(piece)) for piece in pieces]

    def _sort_of(self, piece: slice) -> Callable[[], Sorted] | None:
        """What gives the sorted positions of a piece, where they are known."""
        return None

    @cached_property
    def _positions(self) -> Sorted:
        return sort_positions(self.tokens, self._task.tokens)

    def sorted_at(self, rows: Int[Tensor, " picked"]) -> Sorted:
        """The sorted positions of some sentences of a single set; all are sorted once."""
        return self._positions.pick(rows)

    @cached_property
    def kinds(self) -> Kinds:
        """The words by the scores that fully reparameterised models give them."""
        return count_kinds(self.tokens, self._task, self._dtype)

    def pick(self, rows: Int[Tensor, " picked"]) -> "Shared":
        """Some sentences of a single set, by their numbers; what was worked out for all is not worked out again."""
        return _Picked(self, rows)


class _Picked(Shared):
    """Some sentences of a set that are picked again and again."""

    def __init__(self, whole: Shared, rows: Int[Tensor, " picked"]) -> None:
        super().__init__(whole.tokens[rows], whole._task, whole._dtype)
        self._whole, self._of_whole = whole, rows

    def _sort_of(self, piece: slice) -> Callable[[], Sorted]:
        return partial(self._whole.sorted_at, self._of_whole[piece])  # not of self, which would then hold itself

    @cached_property
    def kinds(self) -> Kinds:
        return self._whole.kinds.pick(self._of_whole)


#: The sentences of a step, with their labels at each noise level.
Batches = Callable[[int], tuple[Sentences, Int[Tensor, "levels batch"]]]
SharedBatches = Callable[[int], tuple[Shared, Int[Tensor, "levels batch"]]]


def fresh_batches(task: Task, levels: list[float], batch: int, seed: Seed) -> Batches:
    """New sentences at every step: descent on the population loss (Section 5).

    Sentences of :data:`BLOCK` steps are drawn at once, for with small batches most of a draw is spent on calling
    operations. So steps must be asked for in their order.
    """
    draw = generator(seed)
    noise = torch.tensor(levels, dtype=torch.float64)
    block: list[tuple[Sentences, Int[Tensor, "levels sentences"]]] = []

    def next_batch(step: int) -> tuple[Sentences, Int[Tensor, "levels batch"]]:
        if step % BLOCK == 0:
            drawn = sample_sentences(task, BLOCK * batch, draw)
            block[:] = [(drawn, draw_labels(drawn, task, noise, draw))]
        sentences, labels = block[0]
        rows = slice(step % BLOCK * batch, (step % BLOCK + 1) * batch)
        return sentences.pick(rows), labels[:, rows]

    return next_batch


def epochs(sentences: Shared, labels: Int[Tensor, "levels sentences"], batch: int, seed: Seed) -> SharedBatches:
    """The same sentences over and over, in a new order each epoch: descent on the empirical loss (Section 5.3)."""
    draw = generator(seed)
    count, device = len(sentences.tokens), sentences.tokens.device
    per_epoch, order = count // batch, torch.empty(0)

    def next_batch(step: int) -> tuple[Shared, Int[Tensor, "levels batch"]]:
        nonlocal order
        if step % per_epoch == 0:
            order = torch.randperm(count, generator=draw).to(device)
        rows = order[step % per_epoch * batch :][:batch]
        return sentences.pick(rows), labels[:, rows]

    return next_batch


def estimated_gammas(labels: Int[Tensor, "levels sentences"], levels: list[float], task: Task) -> dict[float, float]:
    """γ̂ of each noise level from the frequency of τ among its labels (Algorithm 1)."""
    shares = (labels == task.noise_token).double().mean(dim=1)
    return {level: odds(float(share)) for level, share in zip(levels, shares, strict=True)}


@torch.inference_mode()  # no slope is taken of anything here, and small operations cost less
def train(
    runs: list[Training],
    task: Task,
    steps: int,
    batch: int = 512,
    seed: Seed = 0,
    *,
    batches: SharedBatches | None = None,
    gammas: dict[float, float] | None = None,
    arithmetic: Arithmetic = "log-domain",
    dtype: torch.dtype = torch.float64,
    relu_shift: float = 1e-8,
    evaluation: int = 1024,
    record_every: int | None = None,
    measured: Sequence[str] = MEASURES,
    device: torch.device | str = "cpu",
) -> History:
    """Normalised gradient descent from zero on every run (Section 5), measured on sentences kept apart.

    Args:
        runs: models, noise levels and rates; all of one task.
        batches: where the sentences come from, on the device; fresh ones at each step unless given.
        gammas: γ of the reparameterised feed-forward layers by noise level; the true one unless given.
        arithmetic: how the loss's slope is computed in runs that do not say it themselves.
        relu_shift: see :class:`Architecture`.
        evaluation: sentences in each of the two evaluation sets.
        record_every: measure every so many steps, and at the end; a twentieth of the steps unless given.
        measured: which of :data:`MEASURES` to take.
        device: where the models are; sentences are drawn on the CPU and moved, and what is measured comes back to it.

    Raises:
        ParameterError: a noise level that the task does not know, no such measure, or a number out of range.
    """
    require(steps=(steps, 1, None), batch=(batch, 1, None), evaluation=(evaluation, 1, None))
    require(measured=(Each(measured), MEASURES))
    levels = sorted({run.noise for run in runs})
    of_batches, of_seen, of_unseen = streams(seed, 3)
    batches = batches or _fresh(task, levels, batch, of_batches, dtype, device)
    held_out = [
        sample_sentences(task, evaluation, of_seen).to(device),
        sample_sentences(task, evaluation, of_unseen, unseen=True).to(device),
    ]
    shared = [Shared(part.tokens, task, dtype) for part in held_out]
    group = stacks(runs, task, gammas, relu_shift, dtype, device)
    rows = [level_of(stack.runs, levels).to(device) for stack in group]
    every = record_every or max(1, steps // 20)
    marks, records = [], []
    keep_freed_memory()
    for step in range(steps + 1):
        coming, labels = batches(step)
        if step % every == 0 or step == steps:
            marks.append(step)
            records.append(_measure(group, held_out, shared, task, coming, labels[torch.cat(rows)], measured))
        if step == steps:
            break
        for stack, row in zip(group, rows, strict=True):
            take_step(stack, coming, labels[row], arithmetic)
    values = {name: torch.stack([record[name] for record in records]).cpu() for name in measured}
    return History([run for stack in group for run in stack.runs], marks, values)


def _fresh(
    task: Task, levels: list[float], batch: int, seed: Seed, dtype: torch.dtype, device: torch.device | str
) -> SharedBatches:
    """:func:`fresh_batches` with what stacks share, on a device."""
    batches = fresh_batches(task, levels, batch, seed)

    def next_batch(step: int) -> tuple[Shared, Int[Tensor, "levels batch"]]:
        sentences, labels = batches(step)
        return Shared(sentences.tokens.to(device), task, dtype), labels.to(device)

    return next_batch


def take_step(stack: Stack, sentences: Shared, labels: Int[Tensor, "runs batch"], arithmetic: Arithmetic) -> None:
    """One step of every run of a stack; of sets, the labels stand as the stacked models do.

    Probabilities of a trained model are subnormal by the thousand, and nothing in a sum. The length of a slope is taken
    with them, for when it underflows is part of an arithmetic.
    """
    if stack.trained == "scales":
        with subnormals_as_zero():
            slope = scale_slope(sentences.kinds, stack, labels, arithmetic)
        stack.step_scales(slope)
    else:
        with subnormals_as_zero():
            slopes = _slopes(stack, sentences.places, labels, arithmetic)
        stack.step(slopes)


def _slopes(stack: Stack, pieces: list[Places], labels: Int[Tensor, "runs batch"], arithmetic: Arithmetic) -> Weights:
    """The slopes of the loss on a batch whose sentences are taken in pieces, up to a factor for each run."""
    weights, architecture = stack.weights, stack.architecture
    done = [attend(piece, weights, architecture) for piece in pieces]
    logits = [logits_of(piece, weights, architecture, one) for piece, one in zip(pieces, done, strict=True)]
    loss = cross_entropy_by(stack.arithmetics(arithmetic), torch.cat(logits, dim=-2), labels)
    errors = loss.error.split([len(piece) for piece in pieces], dim=-2)
    parts = [
        gradients(piece, weights, architecture, one, error * len(piece), stack.trained == "all").matrices
        for piece, one, error in zip(pieces, done, errors, strict=True)
    ]
    return Weights(*(_sum(each) for each in zip(*parts, strict=True)))


def _sum(parts: Sequence[Tensor]) -> Tensor:
    """The sum of tensors; the first of them is lost."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


@torch.inference_mode()  # no slope is taken of anything here, and small operations cost less
def train_on_sample(
    runs: list[Training],
    task: Task,
    samples: int,
    passes: int,
    batch: int = 512,
    seed: Seed = 0,
    *,
    evaluation: int = 1024,
    dtype: torch.dtype = torch.float64,
    record_every: int | None = None,
    arithmetic: Arithmetic = "log-domain",
    device: torch.device | str = "cpu",
) -> History:
    """:func:`train` on ``samples`` labelled sentences, ``passes`` times over, with γ̂ from their labels (Section 5.3).

    Raises:
        ParameterError: fewer sentences than a batch, or a noiseless task.
    """
    refuse_unless(task.noisy, "task must be noisy, got a noiseless one")
    require(samples=(samples, batch, None), passes=(passes, 1, None))
    levels = sorted({run.noise for run in runs})
    of_sample, of_epochs, of_evaluation = streams(seed, 3)
    draw = generator(of_sample)
    sentences = sample_sentences(task, samples, draw)
    labels = draw_labels(sentences, task, torch.tensor(levels, dtype=torch.float64), draw)
    return train(
        runs,
        task,
        passes * (samples // batch),
        batch,
        of_evaluation,
        batches=epochs(Shared(sentences.tokens.to(device), task, dtype), labels.to(device), batch, of_epochs),
        gammas=estimated_gammas(labels, levels, task),
        arithmetic=arithmetic,
        dtype=dtype,
        evaluation=evaluation,
        record_every=record_every,
        device=device,
    )


def _describe(name: str, noise: float, rate: float, arithmetic: Arithmetic | None = None) -> str:
    return f"{name} at α = {noise}, η = {rate}" + (f", {arithmetic}" if arithmetic else "")


def layers_of(sentences: Shared, group: list[Stack]) -> Pass:
    """The logits of both layers of all stacks; what there is for every position is let go."""
    stacked = []
    for stack in group:
        if stack.trained == "scales":
            passes = [scale_layers(sentences.kinds, stack)]
        else:
            passes = [forward(piece, stack.weights, stack.architecture) for piece in sentences.places]
        stacked.append(
            [torch.cat(each, dim=-2) for each in zip(*((p.attention, p.feed_forward) for p in passes), strict=True)]
        )
    attention, feed_forward = (torch.cat(each) for each in zip(*stacked, strict=True))
    nothing = attention[..., :0]
    return Pass(nothing, nothing, nothing, attention, feed_forward)


def _measure(
    group: list[Stack],
    held_out: list[Sentences],
    shared: list[Shared],
    task: Task,
    coming: Shared,
    labels: Int[Tensor, "runs batch"],
    measured: Sequence[str],
) -> dict[str, Float[Tensor, " runs"]]:
    """The measures of all stacks together, for small operations cost the least when there are few of them."""
    seen, unseen = (layers_of(sentences, group) for sentences in shared)
    runs = [run for stack in group for run in stack.runs]
    logits = layers_of(coming, group).logits if "labels" in measured else None
    return measures(runs, task, held_out, [seen, unseen], logits, labels, measured)


def measures(
    runs: list[Training],
    task: Task,
    held_out: list[Sentences],
    passes: list[Pass],
    coming: Float[Tensor, "runs batch tokens"] | None,
    labels: Int[Tensor, "runs batch"],
    measured: Sequence[str] = MEASURES,
) -> dict[str, Float[Tensor, " runs"]]:
    """Some of :data:`MEASURES` of stacked runs, or all.

    Args:
        held_out, passes: the evaluation sentences, those with trained outputs first, and the layers' logits on them.
        coming, labels: logits and labels of the coming step; the logits are for ``labels`` alone.
    """
    noise = torch.tensor([run.noise for run in runs], dtype=torch.float64, device=labels.device)[:, None]
    seen, unseen = passes
    output, other = (sentences.output for sentences in held_out)
    tau, nothing = task.noise_token, torch.zeros_like(unseen.logits[..., 0], dtype=torch.float64)

    @cache
    def log_p() -> Float[Tensor, "runs sentences tokens"]:
        return unseen.logits.double().log_softmax(dim=-1)

    ways: dict[str, Callable[[], Tensor]] = {
        "population": lambda: expected_loss(seen.logits.double(), output, tau, noise),
        "unseen": lambda: expected_loss(unseen.logits.double(), other, tau, noise),
        "labels": lambda: cross_entropy(cast(Tensor, coming).double(), labels).losses,
        "p_output": lambda: _at(log_p(), other).exp(),
        "p_noise": lambda: log_p()[..., tau].exp() if task.noisy else nothing,
        "attention_output": lambda: _at(seen.attention, output),
        "attention_largest": lambda: seen.attention.amax(dim=-1),
        "feed_forward_noise": lambda: seen.feed_forward[..., tau],
        "feed_forward_largest": lambda: seen.feed_forward.amax(dim=-1),
        "attention_hits": lambda: seen.attention.argmax(dim=-1) == output,
        "feed_forward_hits": lambda: seen.feed_forward.argmax(dim=-1) == tau,
        "separated": lambda: separated(seen, held_out[0], task) if task.noisy else nothing,
    }
    return {name: ways[name]().double().mean(dim=-1) for name in measured}


def _at(
    values: Float[Tensor, "runs sentences tokens"], token: Int[Tensor, " sentences"]
) -> Float[Tensor, "runs sentences"]:
    return values.gather(-1, token.expand(values.shape[:-1])[..., None]).squeeze(-1)
