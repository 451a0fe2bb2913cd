"""How far apart two nearly optimal models can be (Lemmas 4.4 and B.2)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.learning.regression import Statistics
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require


def squared_bound(
    epsilon: float, smallest: float, tokens: Float[Tensor, "... tokens width"], least: float = 0.0
) -> Float[Tensor, "..."]:
    """``4 (ε − L) ‖Z‖_F⁶ / λ_min``, a bound on the squared difference of two models of loss at most ε.

    Args:
        epsilon: the loss that both models keep to.
        smallest: λ_min of the second moment, above 0.
        tokens: the inputs Z.
        least: L, the loss of least squares; 0 gives the corrected form of Lemma 4.4, its value that of Lemma B.2.
    """
    return 4 * (epsilon - least) / smallest * _sixth_power(tokens)


def printed_bound(epsilon: float, smallest: float, tokens: Float[Tensor, "... tokens width"]) -> Float[Tensor, "..."]:
    """Eq. 20 as printed: ``ε ‖Z‖_F⁶ / λ_min``, there a bound on the difference itself, not on its square."""
    return epsilon / smallest * _sixth_power(tokens)


def printed_noise_numerator(
    epsilon: float, noise: Float[Tensor, "samples out"], data: Float[Tensor, "samples tokens width"], failure: float
) -> float:
    """The numerator of Eq. 58 as printed: ``ε − mean ‖ζ‖² + B² log(1/δ) / N`` with B the largest ``‖Z_i‖_F``.

    Raises:
        ParameterError: a probability of failure outside (0, 1].
    """
    require(failure=(failure, 1e-300, 1.0))
    largest = data.flatten(1).norm(dim=1).max().item()
    return epsilon - noise.square().sum(dim=1).mean().item() + largest**2 * math.log(1 / failure) / len(data)


def coefficients_of_loss(
    data: Statistics, best: Float[Tensor, "out psi"], epsilon: float, directions: Float[Tensor, "count out psi"]
) -> Float[Tensor, "count out psi"]:
    """From the least-squares coefficients along each direction, as far as the loss exceeds the least by ``epsilon``."""
    rise = (directions @ data.second_moment * directions).sum(dim=(1, 2))
    return best + (epsilon / rise).sqrt()[:, None, None] * directions


def draw_directions(data: Statistics, count: int, seed: Seed) -> Float[Tensor, "2 count out psi"]:
    """Pairs of directions in which to leave the minimiser: two at random, opposite ones, and along least eigenvectors.

    A third of the pairs each: independent Gaussian directions, a direction and its opposite, and a random output
    pattern times the eigenvector of the least eigenvalue of Λ with its opposite.

    Raises:
        ParameterError: a count below 3.
    """
    require(count=(count, 3, None))
    source = generator(seed)
    out, psi = data.cross.shape
    dtype, device = data.cross.dtype, data.cross.device
    first, second = (normal(count, out, psi, seed=source, dtype=dtype, device=device) for _ in range(2))
    weakest = torch.linalg.eigh(data.second_moment).eigenvectors[:, 0]
    third = count // 3
    first[2 * third :] = first[2 * third :, :, :1] * weakest
    second[third:] = -first[third:]
    return torch.stack([first, second])


def largest_ratio(
    first: Float[Tensor, "count out psi"],
    second: Float[Tensor, "count out psi"],
    inputs: Float[Tensor, "inputs tokens width"],
    bound: Float[Tensor, " inputs"],
    squared: bool = True,
) -> float:
    """The largest of (squared) difference of outputs over bound, over all pairs and all inputs."""
    gap = ((first - second) @ certificate_features(inputs).mT).square().sum(dim=1)
    return ((gap if squared else gap.sqrt()) / bound).max().item()


def _sixth_power(tokens: Tensor) -> Tensor:
    return tokens.square().sum(dim=(-2, -1)) ** 3
