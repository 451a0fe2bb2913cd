"""The task of Section 6.1: sequences labelled at every position by a random one-head linear attention."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.model.mhla import Heads, mhla_causal, random_heads
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require

#: How "N(0, I/√d)" is read: 1/√d as the standard deviation, or as the variance of every entry.
Scale = Literal["deviation", "variance"]


@dataclass(frozen=True)
class TeacherTask:
    """A data set of Section 6.1 and the teacher that labelled it.

    Attributes:
        teacher: one head with one output.
        tokens: the inputs Z.
        labels: y, one number at each position: the teacher on the tokens up to it.
    """

    teacher: Heads
    tokens: Float[Tensor, "sequences tokens width"]
    labels: Float[Tensor, "sequences tokens 1"]


def teacher_task(width: int, sequences: int, tokens: int, seed: Seed, scale: Scale = "deviation") -> TeacherTask:
    """Draw a teacher and a data set.

    Args:
        width: d.
        sequences: N.
        tokens: T, the length of each sequence.
        seed: draws the teacher first, then the inputs.
        scale: how the two Gaussian laws are read; the entries of the teacher have scale ``1/√d``, those of the inputs
            ``1/√T``.

    Raises:
        ParameterError: a size below 1, or an unknown reading.
    """
    require(width=(width, 1, None), sequences=(sequences, 1, None), tokens=(tokens, 1, None))
    require(scale=(scale, {"deviation", "variance"}))
    power = -0.5 if scale == "deviation" else -0.25
    draws = generator(seed)
    teacher = random_heads(1, width, draws, out=1, scale=width**power)
    inputs = tokens**power * normal(sequences, tokens, width, seed=draws)
    return TeacherTask(teacher, inputs, mhla_causal(teacher, inputs))


@dataclass(frozen=True)
class SharedInputs:
    """One set of inputs with the labels of many teachers, one teacher for each of the models that are trained together.

    Attributes:
        tokens: the inputs Z, which all models see.
        labels: y, one number at each position, by the teacher of each model.
    """

    tokens: Float[Tensor, "sequences tokens width"]
    labels: Float[Tensor, "models sequences tokens"]

    def to(self, device: torch.device | str) -> "SharedInputs":
        """The same data on another device."""
        return SharedInputs(self.tokens.to(device), self.labels.to(device))


def shared_inputs(width: int, sequences: int, tokens: int, teachers: int, seed: Seed) -> SharedInputs:
    """Draw the teachers, then the inputs, by the laws of :func:`teacher_task` with deviations.

    Raises:
        ParameterError: a size below 1.
    """
    require(width=(width, 1, None), sequences=(sequences, 1, None), tokens=(tokens, 1, None))
    require(teachers=(teachers, 1, None))
    draws = generator(seed)
    drawn = [random_heads(1, width, draws, out=1, scale=width**-0.5) for _ in range(teachers)]
    inputs = tokens**-0.5 * normal(sequences, tokens, width, seed=draws)
    return SharedInputs(inputs, torch.stack([mhla_causal(teacher, inputs)[..., 0] for teacher in drawn]))


def printed_labels(teacher: Heads, tokens: Float[Tensor, "tokens width"]) -> Float[Tensor, "tokens 1"]:
    """The labels as Section 6.1 prints them, ``y_t = V Z_{1:t} (z_t Q z_t)``, for one sequence.

    ``V`` is 1 x d and ``Z_{1:t}`` is t x d, so the first product has no meaning unless t = d.

    Raises:
        RuntimeError: always, for more than one token or a width above 1: the shapes do not fit.
    """
    value, query = teacher.values[0], teacher.queries[0]
    return torch.stack([value @ tokens[: t + 1] * (tokens[t] @ query @ tokens[t]) for t in range(len(tokens))])
