"""Embeddings narrower than the vocabulary: how well a layer can do (Theorem 3.1, necessity; Theorem B.2)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.hyper_attention.interactions.interactions import functional_tensor
from attention_theory.randomness import Seed, generator, normal
from attention_theory.training import Parameters, train_many
from attention_theory.validation import FORMS, Form, require


@dataclass(frozen=True)
class _Approximation:
    """A layer with a bound on its error (Theorem B.2): ``bound`` for each token, in the norm of the outputs."""

    embedding: Float[Tensor, "size width"]
    score: Float[Tensor, "width width"]
    value: Float[Tensor, "width features"]
    bound: float


def approximate(
    effect: Float[Tensor, "size size"],
    weights: Float[Tensor, "size features"],
    effect_rank: int,
    weight_rank: int,
) -> _Approximation:
    """The corrected form of Theorem B.2: truncate F to rank r and W to rank q, and embed in 2r + q dimensions.

    Where ``2r + q`` exceeds the number of symbols, as many dimensions as symbols are enough. The embedding must hold
    the left *and* the right singular vectors of F, and the left ones of W, because score and value matrix are both seen
    through it. The error of a row is then at most ``L`` times :func:`truncation_bound`.

    Raises:
        ParameterError: a rank below 1, or above that of a full matrix.
    """
    require(effect_rank=(effect_rank, 1, len(effect)), weight_rank=(weight_rank, 1, min(weights.shape)))
    left, _, right = torch.linalg.svd(effect)
    weight_left = torch.linalg.svd(weights, full_matrices=False).U
    spans = torch.cat([left[:, :effect_rank], right[:effect_rank].mT, weight_left[:, :weight_rank]], dim=1)
    embedding = torch.linalg.qr(spans).Q
    return _Approximation(
        embedding,
        embedding.mT @ _truncated(effect, effect_rank) @ embedding,
        embedding.mT @ _truncated(weights, weight_rank),
        truncation_bound(effect, weights, effect_rank, weight_rank),
    )


def truncation_bound(
    effect: Float[Tensor, "size size"],
    weights: Float[Tensor, "size features"],
    effect_rank: int,
    weight_rank: int,
    form: Form = "correct",
) -> float:
    """The most that a token of the sequence can add to the error of a row (Theorem B.2).

    It is ``max |w_b| sigma_{r+1}(F) + max |F_r| sigma_{q+1}(W)`` for F truncated to rank r and W to rank q.
    ``form="printed"`` has all the singular values of W from ``q + 1`` on, as the root of their sum of squares. The
    paper gives it for ``r = q = d``, an embedding of so many dimensions, in which the truncated matrices need not fit.

    Raises:
        ParameterError: a rank below 1 or above the number of symbols, or an unknown form.
    """
    require(effect_rank=(effect_rank, 1, len(effect)), weight_rank=(weight_rank, 1, len(weights)), form=(form, FORMS))
    lost_effect = torch.linalg.svdvals(effect)[effect_rank : effect_rank + 1].sum()
    lost_weights = torch.linalg.svdvals(weights)[weight_rank:]
    lost = lost_weights[:1].sum() if form == "correct" else lost_weights.norm()
    return (weights.norm(dim=1).max() * lost_effect + _truncated(effect, effect_rank).abs().max() * lost).item()


def _truncated(matrix: Float[Tensor, "rows columns"], rank: int) -> Float[Tensor, "rows columns"]:
    """The nearest matrix of a rank."""
    left, strengths, right = torch.linalg.svd(matrix, full_matrices=False)
    return left[:, :rank] * strengths[:rank] @ right[:rank]


def largest_error(error: Float[Tensor, "... size size features"], length: int) -> Float[Tensor, "..."]:
    """The largest norm of a token's error over all sequences of a length, from the errors of the functional tensor.

    A token of symbol m is off by the sum over n of ``s_n E[m, n]``, with counts s that add up to L and have ``s_m >=
    1``. The norm of this is convex in s, so it is largest at a corner: one m and L - 1 times one n (Theorem B.2).

    Raises:
        ParameterError: no token.
    """
    require(length=(length, 1, None))
    own = error.diagonal(dim1=-3, dim2=-2).mT
    return (own.unsqueeze(-2) + (length - 1) * error).norm(dim=-1).amax(dim=(-2, -1))


def best_residual(
    target: Float[Tensor, "size size features"],
    width: int,
    restarts: int,
    steps: int,
    seed: Seed,
    length: int | None = None,
) -> float:
    """The smallest error in a functional tensor that layers of a width were trained to, over all restarts.

    The error is the squared distance (Theorem 3.1, necessity), or with a ``length`` the :func:`largest_error` over
    sequences of so many tokens, in which Theorem B.2 measures. Embedding, score and value are all free. Every restart
    is a model of one batch, trained by Adam with a cosine.

    Raises:
        ParameterError: a width below 1 or above the number of symbols, no restart, no step, or no token.
    """
    size, _, features = target.shape
    require(width=(width, 1, size), restarts=(restarts, 1, None), steps=(steps, 1, None))

    def loss(models: Parameters, step: int) -> Float[Tensor, " restarts"]:
        error = functional_tensor(**models) - target
        return error.square().flatten(1).sum(dim=1) if length is None else largest_error(error, length)

    draw = generator(seed)
    shapes = {"embedding": (size, width), "score": (width, width), "value": (width, features)}
    start = {
        name: normal(restarts, *shape, seed=draw, dtype=target.dtype, device=target.device) * 0.7
        for name, shape in shapes.items()
    }
    lr = 0.05 if length is None else 0.02
    return train_many(loss, start, steps, lr, schedule="cosine").losses.min().item()
