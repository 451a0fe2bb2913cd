"""Embeddings narrower than the vocabulary: how well a layer can do (Theorem 3.1, necessity; Theorem B.2)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.hyper_attention.interactions.interactions import functional_tensor
from attention_theory.randomness import Seed, generator
from attention_theory.training import Parameters, train_many
from attention_theory.validation import require


@dataclass(frozen=True)
class Approximation:
    """A layer with a bound on its error: ``bound`` for each token of the sequence, in the norm of the outputs."""

    embedding: Float[Tensor, "size width"]
    score: Float[Tensor, "width width"]
    value: Float[Tensor, "width features"]
    bound: float


def approximate(
    effect: Float[Tensor, "size size"],
    weights: Float[Tensor, "size features"],
    effect_rank: int,
    weight_rank: int,
) -> Approximation:
    """The corrected form of Theorem B.2: truncate F to rank r and W to rank q, and embed in 2r + q dimensions.

    Where ``2r + q`` exceeds the number of symbols, as many dimensions as symbols are enough. The embedding must hold
    the left *and* the right singular vectors of F, and the left ones of W, because score and value matrix are both seen
    through it. Then the error of a row is at most
    ``L (max |w_b| sigma_{r+1}(F) + max |F_r| sigma_{q+1}(W))``.

    Raises:
        ParameterError: a rank below 1 or above the number of symbols.
    """
    size = effect.shape[0]
    require(effect_rank=(effect_rank, 1, size), weight_rank=(weight_rank, 1, min(weights.shape)))
    left, strengths, right = torch.linalg.svd(effect)
    main = left[:, :effect_rank] * strengths[:effect_rank] @ right[:effect_rank]
    weight_left, weight_strengths, weight_right = torch.linalg.svd(weights, full_matrices=False)
    main_weights = weight_left[:, :weight_rank] * weight_strengths[:weight_rank] @ weight_right[:weight_rank]
    spans = torch.cat([left[:, :effect_rank], right[:effect_rank].mT, weight_left[:, :weight_rank]], dim=1)
    embedding = torch.linalg.qr(spans).Q
    lost_effect = strengths[effect_rank] if effect_rank < size else strengths.new_zeros(())
    lost_weight = weight_strengths[weight_rank] if weight_rank < len(weight_strengths) else strengths.new_zeros(())
    bound = weights.norm(dim=1).max() * lost_effect + main.abs().max() * lost_weight
    return Approximation(embedding, embedding.mT @ main @ embedding, embedding.mT @ main_weights, bound.item())


def printed_bound(effect: Float[Tensor, "size size"], weights: Float[Tensor, "size features"], width: int) -> float:
    """The bound of Theorem B.2 as printed, for each token of the sequence; ``zeta_2`` from F truncated to ``width``."""
    require(width=(width, 1, effect.shape[0] - 1))
    left, strengths, right = torch.linalg.svd(effect)
    main = left[:, :width] * strengths[:width] @ right[:width]
    lost_weights = torch.linalg.svdvals(weights)[width:].norm()
    return (weights.norm(dim=1).max() * strengths[width] + main.abs().max() * lost_weights).item()


def best_residual(
    target: Float[Tensor, "size size features"], width: int, restarts: int, steps: int, seed: Seed, rate: float = 0.05
) -> float:
    """The least squared distance to a functional tensor that layers of a width were trained to, over all restarts.

    Embedding, score and value are all free; every restart is a model of one batch, trained by Adam with a cosine.
    """
    size, _, features = target.shape
    require(width=(width, 1, size), restarts=(restarts, 1, None))
    draw = generator(seed)
    shapes = {"embedding": (size, width), "score": (width, width), "value": (width, features)}
    start = {
        name: torch.randn(restarts, *shape, generator=draw, dtype=target.dtype) * 0.7 for name, shape in shapes.items()
    }

    def residual(models: Parameters, step: int) -> Float[Tensor, " restarts"]:
        return (functional_tensor(**models) - target).square().flatten(1).sum(dim=1)

    return train_many(residual, start, steps, rate, schedule="cosine").losses.min().item()
