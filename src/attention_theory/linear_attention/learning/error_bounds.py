"""Distance between two nearly optimal models (Lemmas 4.4 and B.2)."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.learning.regression import Statistics
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import FORMS, Form, require


def difference_bound(
    epsilon: float,
    smallest: float,
    tokens: Float[Tensor, "... tokens width"],
    least: float = 0.0,
    form: Form = "correct",
) -> Float[Tensor, "..."]:
    """``4 (ε − L) ‖Z‖_F⁶ / λ_min``, a bound on the squared difference of two models of loss at most ε.

    Args:
        epsilon: the loss that both models keep to.
        smallest: λ_min of the second moment, above 0.
        tokens: the inputs Z.
        least: L, the loss of least squares; 0 gives the corrected form of Lemma 4.4, its value that of Lemma B.2.
        form: ``printed`` has no factor 4, as Eq. 20, where it bounds the difference and not its square.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    factor = 4 if form == "correct" else 1
    return factor * (epsilon - least) / smallest * tokens.square().sum(dim=(-2, -1)) ** 3


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
