"""Training many small models at once.

The models are stacked along the first axis of every parameter. Adam works entry by entry, so one step on the sum of
the losses is the same step on each model alone; only the learning rate has to be kept per model.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.validation import require

Parameters = dict[str, Tensor]
_Schedule = Literal["constant", "cosine"]


@dataclass(frozen=True)
class _Trained:
    """Stacked models after training.

    Attributes:
        parameters: as given, trained.
        losses: the loss of each model at the end.
        history: the losses at the recorded steps, one row a record.
        steps: the number of steps taken before each record.
    """

    parameters: Parameters
    losses: Float[Tensor, " models"]
    history: Float[Tensor, "records models"]
    steps: list[int]


class Adam:
    """Adam, or AdamW, on one stacked tensor, which it changes in place and without taking memory at a step.

    Args:
        value: the parameters of every model, the models first.
        lr: the learning rate, one for all or one a model.
        weight_decay: decoupled decay, as a multiple of the rate.
        betas: the two averages.
    """

    def __init__(
        self,
        value: Float[Tensor, "models ..."],
        lr: float | Float[Tensor, " models"],
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        self.value, self.weight_decay, self.betas = value, weight_decay, betas
        self.lr = _per_model(lr, value)
        self.first, self.second = torch.zeros_like(value), torch.zeros_like(value)
        self._change, self._spread = torch.empty_like(value), torch.empty_like(value)
        self._steps = 0

    def step(self, gradient: Float[Tensor, "models ..."], lr_scale: float = 1.0) -> None:
        """One step down a gradient, at a share of the rate."""
        self._steps += 1
        now, squares = lr_scale * self.lr, self._change
        self.first.lerp_(gradient, 1 - self.betas[0])
        self.second.lerp_(torch.mul(gradient, gradient, out=squares), 1 - self.betas[1])
        spread = torch.div(self.second, 1 - self.betas[1] ** self._steps, out=self._spread).sqrt_().add_(1e-8)
        if self.weight_decay:
            self.value.mul_(1 - now * self.weight_decay)
        mean = torch.div(self.first, 1 - self.betas[0] ** self._steps, out=self._change)
        self.value.sub_(mean.mul_(now).div_(spread))


def train_many(
    loss: Callable[[Parameters, int], Float[Tensor, " models"]],
    start: Mapping[str, Tensor],
    steps: int,
    lr: float | Float[Tensor, " models"],
    schedule: _Schedule = "constant",
    weight_decay: float = 0.0,
    betas: tuple[float, float] = (0.9, 0.999),
    record_every: int | None = None,
) -> _Trained:
    """Train stacked models by Adam (AdamW with ``weight_decay``), each by its own loss and learning rate.

    Args:
        loss: the loss of every model at given parameters and step; the step lets it draw its batch.
        start: the stacked parameters to begin from, the models first in every one; not changed.
        steps: the number of steps, at least 1.
        lr: the learning rate, one for all or one a model.
        schedule: ``cosine`` lets the rate fall to zero along a half cosine.
        weight_decay: decoupled decay, as a multiple of the rate.
        betas: Adam's two averages.
        record_every: record the losses every so many steps; ``steps // 50`` unless given.

    Raises:
        ParameterError: an argument out of its range.
    """
    require(steps=(steps, 1, None), schedule=(schedule, {"constant", "cosine"}))
    every = record_every or max(1, steps // 50)
    models = {name: value.detach().clone().requires_grad_() for name, value in start.items()}
    optimisers = [Adam(value.detach(), lr, weight_decay, betas) for value in models.values()]
    history, marks = [], []
    for step in range(steps):
        losses = loss(models, step)
        if step % every == 0:
            history.append(losses.detach().clone())
            marks.append(step)
        gradients = torch.autograd.grad(losses.sum(), list(models.values()))
        share = 0.5 * (1 + math.cos(math.pi * step / steps)) if schedule == "cosine" else 1.0
        for optimiser, gradient in zip(optimisers, gradients, strict=True):
            optimiser.step(gradient, share)
    with torch.no_grad():
        final = loss(models, steps)
    history.append(final.clone())
    marks.append(steps)
    trained = {name: value.detach() for name, value in models.items()}
    return _Trained(trained, final, torch.stack(history), marks)


def _per_model(lr: float | Tensor, like: Tensor) -> float | Tensor:
    return lr.reshape(-1, *[1] * (like.ndim - 1)) if isinstance(lr, Tensor) else lr
