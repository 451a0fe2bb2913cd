"""Runs of several seeds side by side: every run has sentences of its own, and one pass takes them all.

With the small batches of a laptop run, most of a training step is spent on calling operations and not in them. So the
seeds of an experiment go through each operation together. Sentences are drawn for many steps at once.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.in_context_reasoning.cross_entropy import Arithmetic, cross_entropy
from attention_theory.in_context_reasoning.model import Pass, attend, forward, gradients, logits_of
from attention_theory.in_context_reasoning.places import Places
from attention_theory.in_context_reasoning.task import Sentences, Task, draw_labels, sample_sentences
from attention_theory.in_context_reasoning.training import MEASURES, Batches, History, measures
from attention_theory.in_context_reasoning.variants import VARIANTS, Stack, Training, stacks
from attention_theory.randomness import Seed, generator, streams
from attention_theory.validation import require

#: Steps whose sentences are drawn at once.
BLOCK = 25


def block_batches(task: Task, noise: float, batch: int, seed: Seed) -> Batches:
    """New sentences at every step, as :func:`fresh_batches` gives them, drawn for many steps at once.

    Steps must be asked for in their order.
    """
    draw, levels = generator(seed), torch.tensor([noise], dtype=torch.float64)
    block: list[tuple[Sentences, Tensor]] = []

    def next_batch(step: int) -> tuple[Sentences, Int[Tensor, "levels batch"]]:
        if step % BLOCK == 0:
            drawn = sample_sentences(task, BLOCK * batch, draw)
            block[:] = [(drawn, draw_labels(drawn, task, levels, draw))]
        sentences, labels = block[0]
        rows = slice(step % BLOCK * batch, (step % BLOCK + 1) * batch)
        return sentences.pick(rows), labels[:, rows]

    return next_batch


def train_seeds(
    names: Sequence[str],
    task: Task,
    noise: float,
    rate: float,
    steps: int,
    batch: int,
    seeds: Sequence[int],
    *,
    arithmetic: Arithmetic = "subtraction",
    dtype: torch.dtype = torch.float32,
    evaluation: int = 1024,
    record_every: int = 10,
    device: torch.device | str = "cpu",
) -> list[History]:
    """What ``train`` does with the named models, for several seeds at once: the history of each (Section 5).

    Every seed has its own sentences, to train on and to be measured on, and its models share them. Slopes are computed
    by subtraction in float32 unless another arithmetic is asked for, as in an ordinary training loop.

    Args:
        task: its sizes and fillers; with ``noise`` above 0 it must be the noisy one.
        evaluation: sentences in each of the two evaluation sets of a seed.
        record_every: measure every so many steps, and at the end.
        device: where the models are; what is measured comes back to the CPU.

    Raises:
        ParameterError: a name that is none of the models, no seed, or a number out of range.
    """
    require(names=(list(names), VARIANTS), seeds=(len(seeds), 1, None), record_every=(record_every, 1, None))
    require(steps=(steps, 1, None), batch=(batch, 1, None), evaluation=(evaluation, 1, None))
    sources = [_Source(task, noise, batch, evaluation, seed, device) for seed in seeds]
    runs = [Training(VARIANTS[name], noise, rate) for name in names]
    group = [_repeated(stack.runs, task, len(seeds), dtype, device) for stack in stacks(runs, task)]
    all_copies = {_copies(one, seeds) for one in group}
    held_out = {
        copies: [
            _places([source.held_out[kind].tokens for source in sources], copies, task.tokens) for kind in range(2)
        ]
        for copies in all_copies
    }
    marks, records = [], []
    with torch.inference_mode():  # no slope is taken of anything here, and small operations cost less
        for step in range(steps + 1):
            batches = [source.batches(step) for source in sources]
            tokens = [sentences.tokens.to(device) for sentences, _ in batches]
            labels = torch.cat([labels for _, labels in batches]).to(device)
            places = {copies: _places(tokens, copies, task.tokens) for copies in all_copies}
            measured = []
            for one in group:
                copies = _copies(one, seeds)
                if step % record_every == 0 or step == steps:
                    measured.append(_measure(one, task, sources, held_out[copies], places[copies], labels))
                if step < steps:
                    _step(one, places[copies], labels, arithmetic)
            if measured:
                marks.append(step)
                records.append(measured)
    return [_history(group, marks, records, index, len(seeds)) for index in range(len(seeds))]


class _Source:
    """The sentences of one seed; the streams are those of ``train``."""

    def __init__(
        self, task: Task, noise: float, batch: int, evaluation: int, seed: Seed, device: torch.device | str
    ) -> None:
        of_batches, of_seen, of_unseen = streams(seed, 3)
        self.batches = block_batches(task, noise, batch, of_batches)
        seen, unseen = (
            sample_sentences(task, evaluation, one, unseen=one is of_unseen) for one in (of_seen, of_unseen)
        )
        self.held_out = [seen.to(device), unseen.to(device)]


def _repeated(runs: list[Training], task: Task, seeds: int, dtype: torch.dtype, device: torch.device | str) -> Stack:
    """A stack in which every run stands once for each seed: the seeds of the first, those of the second, ..."""
    return Stack([run for run in runs for _ in range(seeds)], task, None, 1e-8, dtype, device)


def _copies(stack: Stack, seeds: Sequence[int]) -> int:
    return len(stack.runs) // len(seeds)


def _places(tokens: list[Int[Tensor, "sentences length"]], copies: int, size: int) -> Places:
    """The sentences of all seeds, over again for each run of a stack."""
    return Places(torch.stack(tokens).repeat(copies, 1, 1), size)


def _step(stack: Stack, places: Places, labels: Int[Tensor, "seeds batch"], arithmetic: Arithmetic) -> None:
    done = attend(places, stack.weights, stack.architecture)
    logits = logits_of(places, stack.weights, stack.architecture, done)
    loss = cross_entropy(logits, labels.repeat(len(logits) // len(labels), 1), arithmetic)
    stack.step(gradients(places, stack.weights, stack.architecture, done, loss.error, stack.trained == "all"))


def _measure(
    stack: Stack,
    task: Task,
    sources: list[_Source],
    held_out: list[Places],
    coming: Places,
    labels: Int[Tensor, "seeds batch"],
) -> list[dict[str, Tensor]]:
    """The measures of each seed's runs."""
    seeds = len(sources)
    passes = [forward(places, stack.weights, stack.architecture) for places in held_out]
    logits = forward(coming, stack.weights, stack.architecture).logits
    found = []
    for index, source in enumerate(sources):
        mine, runs = slice(index, None, seeds), stack.runs[index::seeds]
        layers = [_of(one, mine) for one in passes]
        of_runs = labels[index].expand(len(runs), -1)
        found.append(measures(runs, task, source.held_out, layers, logits[mine], of_runs))
    return found


def _of(done: Pass, runs: slice) -> Pass:
    """The logits of some of the runs; what there is for every position is let go."""
    nothing = done.attended[runs, :, :0]
    return Pass(nothing, nothing, done.attended[runs], done.attention[runs], done.feed_forward[runs])


def _history(
    group: list[Stack], marks: list[int], records: list[list[list[dict[str, Tensor]]]], index: int, seeds: int
) -> History:
    """One seed's part of all records."""
    values = {
        name: torch.stack([torch.cat([of_stack[index][name] for of_stack in record]) for record in records]).cpu()
        for name in MEASURES
    }
    return History([run for stack in group for run in stack.runs[index::seeds]], marks, values)
