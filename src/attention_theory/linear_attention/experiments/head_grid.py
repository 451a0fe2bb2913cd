"""One-layer students of Section 6.1, a whole grid of head counts, learning rates and seeds in one stack (Figure 1).

Models with fewer heads than the largest are filled up with heads of zeros. A head of zeros has a zero gradient, in V
because Q is zero and in Q because V is, so Adam leaves it as it is and the model keeps its own number of heads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.experiments.teacher_task import TeacherTask
from attention_theory.linear_attention.model.mhla import Heads, mhla_causal, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import Seed, generator
from attention_theory.training import Parameters, Trained, train_many
from attention_theory.validation import require


@dataclass(frozen=True)
class Grid:
    """Students that are trained together.

    Attributes:
        runs: heads, learning rate and seed of each student, in the order of the stack.
        start: the students, filled up with zero heads.
        teachers: the teacher of each student, with one head; students of the same seed have the same teacher.
    """

    runs: list[tuple[int, float, int]]
    start: Heads
    teachers: Heads

    @property
    def rates(self) -> Float[Tensor, " models"]:
        return torch.tensor([rate for _, rate, _ in self.runs], dtype=torch.float64, device=self.start.values.device)

    def to(self, device: torch.device | str) -> "Grid":
        """The same students and teachers on another device."""
        return Grid(self.runs, self.start.to(device), self.teachers.to(device))

    def of(self, heads: int, rate: float) -> list[int]:
        """The places in the stack of the students with these settings, one for each seed."""
        return [place for place, run in enumerate(self.runs) if run[:2] == (heads, rate)]


def head_grid(width: int, heads: Sequence[int], rates: Sequence[float], seeds: Sequence[int]) -> Grid:
    """All combinations. Each seed draws a teacher, then a student; all entries have standard deviation ``1/√d``.

    Raises:
        ParameterError: an empty list, heads below 1, a rate that is not positive, or a seed below 0.
    """
    require(heads=(list(heads), 1, None), rates=(list(rates), 1e-9, None), seeds=(list(seeds), 0, None))
    runs = list(product(heads, rates, seeds))
    students, teachers = [], []
    for count, _, seed in runs:
        draws = generator(seed)
        teachers.append(random_heads(1, width, draws, out=1, scale=width**-0.5))
        students.append(_fill_up(random_heads(count, width, draws, out=1, scale=width**-0.5), max(heads)))
    return Grid(runs, _stack(students), _stack(teachers))


def train_in_gram_form(
    grid: Grid, moment: Float[Tensor, "psi psi"], steps: int, record_every: int | None = None
) -> Trained:
    """Train the grid by full-batch Adam on the exact mean squared error over all positions of all sequences.

    The labels are the teachers', so the loss is ``(p − p*) Λ (p − p*)ᵀ``: it costs the same for any number and length
    of sequences.

    Args:
        grid: students and teachers.
        moment: Λ, the second moment of the causal features of the training inputs, which all students share.
        steps: the number of steps.
        record_every: steps between records of the loss.
    """
    target = coefficients(grid.teachers)

    def loss(models: Parameters, step: int) -> Tensor:
        gap = coefficients(Heads(models["values"], models["queries"])) - target
        pull = (gap @ moment).detach()  # Λ is symmetric, so this is half the gradient: no product on the way back
        value = (pull * gap).sum(dim=(-2, -1))
        return 2 * value - value.detach()

    start = {"values": grid.start.values, "queries": grid.start.queries}
    return train_many(loss, start, steps, grid.rates, schedule="cosine", record_every=record_every)


def train_literally(task: TeacherTask, start: Heads, rate: float, batch: int, steps: int, seed: Seed) -> Trained:
    """The reference: one model, trained by Adam on mini-batches of sequences, every output computed.

    Args:
        task: the training data.
        start: one model.
        rate: the learning rate, falling along a cosine as in :func:`train_in_gram_form`.
        batch: sequences in a step, drawn with replacement.
        steps: the number of steps.
        seed: draws the batches.

    Raises:
        ParameterError: a batch below 1, or an argument that ``train_many`` refuses.
    """
    require(batch=(batch, 1, None))
    source = generator(seed)
    picks = torch.randint(len(task.tokens), (steps + 1, batch), generator=source, device=source.device)
    picks = picks.to(task.tokens.device)

    def loss(models: Parameters, step: int) -> Tensor:
        heads = Heads(models["values"][0], models["queries"][0])
        outputs = mhla_causal(heads, task.tokens[picks[step]])
        return (outputs - task.labels[picks[step]]).square().mean()[None]

    stacked = {"values": start.values[None], "queries": start.queries[None]}
    return train_many(loss, stacked, steps, rate, schedule="cosine")


def _fill_up(heads: Heads, count: int) -> Heads:
    missing = count - heads.count
    pad = torch.nn.functional.pad
    return Heads(pad(heads.values, (0, 0, 0, 0, 0, missing)), pad(heads.queries, (0, 0, 0, 0, 0, missing)))


def _stack(models: Sequence[Heads]) -> Heads:
    return Heads(torch.stack([one.values for one in models]), torch.stack([one.queries for one in models]))
