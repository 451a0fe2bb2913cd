"""Training in Gram form: the data enter only through third moments of the counts (Appendix C, Eq. 27).

In one-hot coordinates, write ``t = C diag(w)`` (the functional tensor of a layer with one output). Then the loss is the
sum over symbols a of ``(t_a - t*_a)^T G_a (t_a - t*_a)``, with ``G_a`` the mean of ``s_a s s^T``. A step costs S^3
whatever the number of samples, and any number of models is trained at once.

An orthogonal embedding ``B`` with rows of squared length c changes nothing but the speeds: descent on (C, w) in the
embedding is descent in one-hot coordinates (``B C B^T``, ``B w``) with rates multiplied by ``c^2`` and ``c``.

``features`` are the symbols themselves here, and their pairs in linear HyperAttention of order 3, whose loss has the
same form (:mod:`attention_theory.hyper_attention.layers.pair_gram`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.hyper_attention.interactions.interactions import counts
from attention_theory.validation import refuse_unless, require

_Array = TypeVar("_Array", Tensor, np.ndarray)


@dataclass(frozen=True)
class _Descent:
    """Layers after gradient descent, in one-hot coordinates, and the losses at the recorded steps (Section 7.1)."""

    score: Float[Tensor, "models size features"]
    value: Float[Tensor, "models features"]
    losses: Float[Tensor, "records models"]
    steps: list[int]

    @property
    def tensor(self) -> Float[Tensor, "models size features"]:
        """``C diag(w)``, the functional tensors (Corollary D.3)."""
        return self.score * self.value.unsqueeze(-2)

    def to(self, device: torch.device | str) -> "_Descent":
        """The same layers and losses on another device."""
        return _Descent(self.score.to(device), self.value.to(device), self.losses.to(device), self.steps)


def gram_tensors(symbols: Int[Tensor, "samples length"], size: int) -> Float[Tensor, "size size size"]:
    """``G[a] = (1/B) sum_n s_a s s^T``, from the sequences that hold a only (Eq. 27). Symmetric in its indices."""
    rows = counts(symbols, size)
    gram = rows.new_empty(size, size, size)
    for symbol in range(size):
        holding = rows[rows[:, symbol] > 0]
        torch.matmul(holding.mT * holding[:, symbol], holding, out=gram[symbol])
    return gram / len(symbols)


def gram_loss(
    gram: Float[Tensor, "size features features"],
    tensor: Float[Tensor, "... size features"],
    target: Float[Tensor, "... size features"],
) -> Float[Tensor, "..."]:
    """The training loss of layers with these functional tensors (Section 4)."""
    apart = tensor - target
    return (apart * _pull(gram, apart)).sum(dim=(-2, -1))


def gram_gradients(gram: _Array, target: _Array, score: _Array, value: _Array) -> tuple[_Array, _Array, _Array]:
    """Gradients of the loss in C and w, and the loss itself, of one layer or of many (Appendix C).

    ``gram`` is (size, features, features), ``target`` and ``score`` are (..., size, features), ``value`` is
    (..., features). The same lines serve tensors and, for an integrator that takes many small steps, arrays.
    """
    apart = score * value[..., None, :] - target
    pulled = _pull(gram, apart)
    by_score = 2 * pulled * value[..., None, :]
    by_value = 2 * (pulled * score).sum(-2)
    return by_score, by_value, (apart * pulled).sum((-2, -1))


def descend(
    gram: Float[Tensor, "size features features"],
    target: Float[Tensor, "models size features"],
    value: Float[Tensor, "models features"],
    lrs: Sequence[tuple[float, float]],
    steps: int,
    score: Float[Tensor, "models size features"] | None = None,
    record_every: int = 10,
) -> _Descent:
    """Gradient descent of many layers at once (Section 7.1), each to its own target, from ``C = 0`` unless given.

    Args:
        gram: of the training sequences.
        target: the functional tensor of each model's task.
        value: w at the start, one row a model.
        lrs: the step sizes of C and of w, for each model.
        steps: the number of steps.
        score: C at the start.
        record_every: keep the losses every so many steps.

    Raises:
        ParameterError: no steps, or not one pair of rates a model.
    """
    require(steps=(steps, 1, None), record_every=(record_every, 1, None))
    refuse_unless(len(lrs) == len(value), f"lrs must be a pair for each model, got {len(lrs)} for {len(value)} models")
    speed = torch.tensor(lrs, dtype=gram.dtype, device=gram.device)
    score = torch.zeros_like(target) if score is None else score.clone()
    value = value.clone()
    losses, marks = [], []
    for step in range(steps):
        by_score, by_value, loss = gram_gradients(gram, target, score, value)
        if step % record_every == 0:
            losses.append(loss)
            marks.append(step)
        score -= speed[:, 0, None, None] * by_score
        value -= speed[:, 1, None] * by_value
    losses.append(gram_loss(gram, score * value.unsqueeze(-2), target))
    return _Descent(score, value, torch.stack(losses), [*marks, steps])


def _pull(gram: _Array, apart: _Array) -> _Array:
    """``G_a`` times row a, for every a: models are gathered, so that each ``G_a`` is read once for all of them."""
    rows = apart.reshape(-1, *apart.shape[-2:]).swapaxes(0, 1)
    return (rows @ gram).swapaxes(0, 1).reshape(apart.shape)
