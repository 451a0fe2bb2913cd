"""The task of Section 6.1: sequences labelled at every position by a random one-head linear attention."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.model.mhla import Heads, mhla_every_token, random_heads
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require, require_some

#: How "N(0, I/√d)" is read: 1/√d as the standard deviation, or as the variance of every entry.
_Scale = Literal["deviation", "variance"]


@dataclass(frozen=True)
class Tasks:
    """Data sets of Section 6.1, each with another teacher, for students that are trained side by side.

    Attributes:
        teachers: one head with one output for each run.
        tokens: the inputs Z of each run.
        labels: y, one number at each position.
    """

    teachers: Heads
    tokens: Float[Tensor, "runs sequences tokens width"]
    labels: Float[Tensor, "runs sequences tokens"]

    @classmethod
    def draw(cls, width: int, sequences: int, tokens: int, seeds: Sequence[Seed], scale: _Scale = "deviation") -> Self:
        """Draw a teacher and a data set for each seed.

        Args:
            width: d.
            sequences: N.
            tokens: T, the length of each sequence.
            seeds: each draws a teacher first, then its inputs.
            scale: how the two Gaussian distributions are read; ``1/√d`` is the scale of the entries of a teacher,
                ``1/√T`` that of the inputs.

        Raises:
            ParameterError: a size below 1, an unknown reading, or no seed.
        """
        require(width=(width, 1, None), sequences=(sequences, 1, None), tokens=(tokens, 1, None))
        require(scale=(scale, {"deviation", "variance"}))
        require_some(seeds=seeds)
        power = -0.5 if scale == "deviation" else -0.25
        values, queries, inputs, labels = [], [], [], []
        for draws in map(generator, seeds):
            teacher = random_heads(1, width, draws, out=1, scale=width**power)
            inputs.append(tokens**power * normal(sequences, tokens, width, seed=draws))
            labels.append(mhla_every_token(teacher, inputs[-1], is_causal=True)[..., 0])
            values.append(teacher.values)
            queries.append(teacher.queries)
        return cls(Heads(torch.stack(values), torch.stack(queries)), torch.stack(inputs), torch.stack(labels))

    @property
    def power(self) -> Float[Tensor, " runs"]:
        """The mean square of the labels: the error of a student that always answers zero."""
        return self.labels.square().mean(dim=(1, 2))

    def to(self, where: torch.device | str | torch.dtype) -> "Tasks":
        """The same data on another device, or in another type."""
        teachers = Heads(self.teachers.values.to(where), self.teachers.queries.to(where))
        return Tasks(teachers, self.tokens.to(where), self.labels.to(where))

    def part(self, first: int, last: int | None = None) -> "Tasks":
        """Some of the sequences of every run: those from ``first`` up to and without ``last``."""
        return Tasks(self.teachers, self.tokens[:, first:last], self.labels[:, first:last])


def printed_labels(teacher: Heads, tokens: Float[Tensor, "tokens width"]) -> Float[Tensor, "tokens 1"]:
    """The labels of the paper's formula in Section 6.1, ``y_t = V Z_{1:t} (z_t Q z_t)``, for one sequence.

    ``V`` is 1 x d and ``Z_{1:t}`` is t x d, so the first product has no meaning unless t = d.

    Raises:
        RuntimeError: always, for more than one token or a width above 1: the shapes do not fit.
    """
    value, query = teacher.values[0], teacher.queries[0]
    return torch.stack([value @ tokens[: t + 1] * (tokens[t] @ query @ tokens[t]) for t in range(len(tokens))])
