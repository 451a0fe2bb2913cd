"""Data that pass the certificate of Lemma 4.1 at every width, and the one minimiser on them, exactly (for Lemma 5.2).

An input has two tokens, ``x`` and ``e_l``, with ``x`` one of 0, ``e_j`` and ``e_j + e_k``. Its features are those of
the Gram matrix ``x xᵀ + e_l e_lᵀ`` times ``e_l``, so the regression falls into d parts, one for each l. In each of them
the coefficients are differences of at most four labels. On labels that are whole numbers nothing is rounded.
"""

import torch
from jaxtyping import Float, Num
from torch import Tensor

from attention_theory.linear_attention.model.features import pairs
from attention_theory.validation import require, require_shape


def design(
    width: int, last: int, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
) -> Num[Tensor, "samples tokens width"]:
    """The inputs that end in ``e_last``: ``x`` runs over the sums of each pair j < k, then ``e_j``, then 0.

    Raises:
        ParameterError: a width below 1, or a last token that is no coordinate.
    """
    require(width=(width, 1, None))
    require(last=(last, 0, width - 1))
    j, k = pairs(width, device)
    inputs = torch.zeros(len(j) + 1, 2, width, dtype=dtype, device=device)
    sample = torch.arange(len(j), device=device)
    inputs[sample, 0, j] = 1
    inputs[sample, 0, k] = 1
    inputs[:, 1, last] = 1
    return inputs


def interpolate(labels: Num[Tensor, "samples out"], width: int, last: int) -> Num[Tensor, "out pairs"]:
    """The coefficients ``p[{j, k}, last]``, in the order of Algorithm 2, from the labels of :func:`design`.

    Raises:
        ParameterError: labels of another number than the design has, or a last token that is no coordinate.
    """
    require(last=(last, 0, width - 1))
    require_shape(labels=(labels, (width * (width + 1) // 2 + 1, None)))
    j, k = pairs(width, labels.device)
    mixed = len(j) - width
    nothing, single = labels[-1], labels[mixed:-1]
    squares = single - nothing
    squares[last] = nothing
    products = labels[:mixed] - single[j[:mixed]] - single[k[:mixed]] + nothing
    return torch.cat([products, squares]).mT


def least_eigenvalue_bound(width: int) -> float:
    """η, a lower bound on λ_min(Λ_D) for all inputs of :func:`design` together, above 0 at every width.

    For one l the coefficients are ``A y`` with rows of squared length 1, 2 or 4, so each singular value of the features
    is at least ``1 / ‖A‖_F``, and the mean is over ``N = d (d (d + 1) / 2 + 1)`` inputs.

    Raises:
        ParameterError: a width below 1.
    """
    require(width=(width, 1, None))
    samples = width * (width * (width + 1) // 2 + 1)
    return 1 / (samples * (1 + 2 * (width - 1) + 4 * (width * (width - 1) // 2)))


def sparse_step(
    terms: Float[Tensor, " terms"], places: Num[Tensor, "four terms"], tokens: Float[Tensor, "... tokens width"]
) -> Float[Tensor, "... width"]:
    """The output of a model given by its coefficients that are not 0: ``places`` holds output, j, k and l of each."""
    out, j, k, last = places
    products = (tokens[..., j] * tokens[..., k]).sum(dim=-2) * tokens[..., -1, last] * terms
    output = torch.zeros_like(tokens[..., -1, :])
    return output.index_add(-1, out, products)
