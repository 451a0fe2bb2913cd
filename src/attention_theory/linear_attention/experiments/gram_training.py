"""Gradient training of one-layer models at a cost that does not depend on the number of samples.

The full-batch squared loss is ``tr((P − P̂) Λ (P − P̂)ᵀ) + L̂`` with P = p(Θ) and P̂, L̂ of least squares, so a step needs
the statistics alone.
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.learning.regression import Statistics
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.training import Parameters, train_many


@dataclass(frozen=True)
class TrainedHeads:
    """Models trained together.

    Attributes:
        heads: the models, stacked along the first axis.
        losses: the mean squared loss of each.
        history: the losses at the recorded steps, one row a record.
        steps: the number of steps before each record.
    """

    heads: Heads
    losses: Float[Tensor, " models"]
    history: Float[Tensor, "records models"]
    steps: list[int]


def train_heads(
    data: Statistics, start: Heads, steps: int, rate: float | Float[Tensor, " models"], least_loss: float | None = None
) -> TrainedHeads:
    """Train a stack of models by full-batch Adam with a cosine schedule.

    Args:
        data: the statistics of the training data.
        start: the models to begin from, stacked along the first axis.
        steps: the number of steps, at least 1.
        rate: the learning rate, one for all or one a model.
        least_loss: the loss of least squares, where it is known better than by rounding (0 on realizable data).
    """
    best = data.solve()
    floor = data.loss(best) if least_loss is None else least_loss

    def loss(models: Parameters, step: int) -> Tensor:
        gap = coefficients(Heads(models["values"], models["queries"])) - best
        return (gap @ data.second_moment * gap).sum(dim=(-2, -1)) + floor

    trained = train_many(loss, {"values": start.values, "queries": start.queries}, steps, rate, schedule="cosine")
    heads = Heads(trained.parameters["values"], trained.parameters["queries"])
    return TrainedHeads(heads, trained.losses, trained.history, trained.steps)
