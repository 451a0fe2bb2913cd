"""Features and ranks of a linear layer on pairs of tokens without shared weights (Theorem 3.2)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

from attention_theory.numerics import least_norm_solution
from attention_theory.validation import require


def all_sequences(length: int, size: int) -> Int[Tensor, "samples length"]:
    """Every sequence of ``length`` tokens over ``size`` symbols: on all of them Theorem 3.2 can be decided.

    Raises:
        ParameterError: no token or no symbol.
    """
    require(length=(length, 1, None), size=(size, 1, None))
    return torch.cartesian_prod(*[torch.arange(size)] * length).reshape(-1, length)


def pair_features(
    symbols: Int[Tensor, "samples length"], size: int, token: int, shared: bool
) -> Float[Tensor, "samples features"]:
    """The products of one-hots ``e_{X(i)} ⊗ e_{X(j)}`` for output ``token`` = i (proof of Theorem 3.2).

    Unshared, each partner j has ``size**2`` features, as a fully connected map on pairs has weights for each;
    ``shared`` adds them up over j, as attention does.
    """
    hot = one_hot(symbols, size).to(torch.float64)
    pairs = torch.einsum("na,njb->njab", hot[:, token], hot).flatten(2)
    return pairs.sum(dim=1) if shared else pairs.flatten(1)


def unshared_parameters(length: int, size: int) -> int:
    """Free parameters of an unshared linear map on pairs, all outputs: ``L |S| (1 + (L-1)(|S|-1))`` (Theorem 3.2)."""
    return length * size * (1 + (length - 1) * (size - 1))


def relative_residual(features: Float[Tensor, "samples features"], targets: Float[Tensor, "samples outputs"]) -> float:
    """Squared error of the best linear map from features to targets, over the squared size of the centred targets.

    A layer's outputs are linear in features of its input, so this is what the best layer misses (Assumptions 4.3, G.6).
    """
    fit = least_norm_solution(features, targets)
    spread = (targets - targets.mean(dim=0)).square().sum()
    return ((features @ fit - targets).square().sum() / spread).item()
