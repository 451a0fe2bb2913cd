"""All that is drawn for runs of Section 6.1 side by side: data, mini-batches, and the seeds of their students."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.linear_attention.experiments.teacher_task import Tasks
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.randomness import Seed, generator, streams
from attention_theory.validation import require, require_some


@dataclass(frozen=True)
class RunData:
    """The data of runs, the same for students of every kind.

    Attributes:
        tasks: a teacher and a data set for each run.
        batches: which sequences of its run each step sees.
        seeds: draw the students of each run.
    """

    tasks: Tasks
    batches: Int[Tensor, "steps runs batch"]
    seeds: Sequence[Seed]

    @classmethod
    def draw(
        cls,
        width: int,
        runs: int,
        seed: Seed,
        sequences: int = 256,
        tokens: int = 100,
        batch: int = 32,
        passes: int = 100,
    ) -> Self:
        """Draw runs by one seed; fewer runs by the same seed are the first ones.

        Args:
            width: d.
            runs: how many.
            seed: draws everything.
            sequences: N, of each run.
            tokens: T, the length of each sequence.
            batch: sequences in a step.
            passes: passes through the data, each of ``sequences // batch`` steps, or of one.

        Raises:
            ParameterError: a size below 1.
        """
        of_data, of_students, of_batches = (streams(one, runs) for one in streams(seed, 3))
        steps = passes * max(1, sequences // batch)
        tasks = Tasks.draw(width, sequences, tokens, of_data)
        return cls(tasks, batches_of_runs(sequences, batch, steps, of_batches), of_students)

    @property
    def shape(self) -> torch.Size:
        """Runs, sequences, tokens and width."""
        return self.tasks.tokens.shape

    @property
    def steps_each(self) -> int:
        """The steps of one pass through the data; the last batch may run on into the next pass."""
        return max(1, self.shape[1] // self.batches.shape[-1])

    def curves(
        self, history: Float[Tensor, "steps runs ..."], window: int | None = None
    ) -> Float[Tensor, "windows runs ..."]:
        """The mean errors over each pass, or each ``window`` of steps, relative to always answering zero.

        Steps left over at the end do not count.

        Raises:
            ParameterError: a window below 1, or longer than the training.
        """
        window = self.steps_each if window is None else window
        require(window=(window, 1, len(history)))
        count = len(history) // window
        means = history[: count * window].unflatten(0, (count, window)).mean(dim=1)
        return means / self.tasks.power.reshape(-1, *[1] * (history.ndim - 2))

    def to(self, device: torch.device | str) -> "RunData":
        """The same on another device."""
        return RunData(self.tasks.to(device), self.batches.to(device), self.seeds)

    def several(self, times: int) -> "RunData":
        """All runs several times over, side by side, for students that differ in how they are trained."""
        heads = self.tasks.teachers
        teachers = Heads(*(part.repeat(times, *[1] * (part.ndim - 1)) for part in (heads.values, heads.queries)))
        tasks = Tasks(teachers, self.tasks.tokens.repeat(times, 1, 1, 1), self.tasks.labels.repeat(times, 1, 1))
        return RunData(tasks, self.batches.repeat(1, times, 1), list(self.seeds) * times)

    def first_runs(self, count: int) -> "RunData":
        """The first runs alone."""
        return self._runs(slice(count))

    def later_runs(self, count: int) -> "RunData":
        """All runs but the first ones."""
        return self._runs(slice(count, None))

    def first_passes(self, count: int) -> "RunData":
        """The beginning of the same training."""
        return RunData(self.tasks, self.batches[: count * self.steps_each], self.seeds)

    def _runs(self, some: slice) -> "RunData":
        heads, tasks = self.tasks.teachers, self.tasks
        teachers = Heads(heads.values[some], heads.queries[some])
        part = Tasks(teachers, tasks.tokens[some], tasks.labels[some])
        return RunData(part, self.batches[:, some], self.seeds[some])


def batches_of_runs(sequences: int, batch: int, steps: int, seeds: Sequence[Seed]) -> Int[Tensor, "steps runs batch"]:
    """The batches of several runs side by side, pass after pass, each pass of each run in a new order.

    Raises:
        ParameterError: a number below 1, or no seed.
    """
    require_some(seeds=seeds)
    return torch.stack([_shuffled_batches(sequences, batch, steps, seed) for seed in seeds], dim=1)


def _shuffled_batches(sequences: int, batch: int, steps: int, seed: Seed) -> Int[Tensor, "steps batch"]:
    """The sequences of each step: the next ``batch`` of one pass after another, each pass in a new order.

    A batch that does not divide the data runs on into the next pass. One that is larger holds every sequence several
    times.
    """
    require(sequences=(sequences, 1, None), batch=(batch, 1, None), steps=(steps, 1, None))
    source = generator(seed)
    passes = -(-steps * batch // sequences)
    orders = [torch.randperm(sequences, generator=source, device=source.device) for _ in range(passes)]
    return torch.cat(orders)[: steps * batch].unflatten(0, (steps, batch))
