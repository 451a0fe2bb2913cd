"""Definitions and algorithms written out to the letter: slow forms, the references for the fast ones."""

from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.learning.regression import least_squares
from attention_theory.linear_attention.model.features import cubic_features
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.validation import Form


def mhla_by_sums(heads: Heads, tokens: Float[Tensor, "tokens width"], asking: int = -1) -> Float[Tensor, " out"]:
    """The output of Eq. 2 as a sum of products over heads, tokens and features; ``asking`` picks a column of Eq. 1."""
    n, width = tokens.shape
    output = tokens.new_zeros(heads.out)
    for h, token, j in product(range(heads.count), range(n), range(width)):
        score = sum(
            tokens[token, k] * heads.queries[h, k, last] * tokens[asking, last]
            for k, last in product(range(width), repeat=2)
        )
        output += heads.values[h, :, j] * tokens[token, j] * score
    return output


def cubic_features_by_loops(tokens: Float[Tensor, "tokens width"]) -> Float[Tensor, "width width_squared"]:
    """The features of Algorithm 8, loop by loop."""
    width = tokens.shape[1]
    features = tokens.new_zeros(width, width * width)
    for j, k, last in product(range(width), repeat=3):
        features[j, k * width + last] = (tokens[:, j] * tokens[:, k]).sum() * tokens[-1, last]
    return features


def literal_regression(
    tokens: Float[Tensor, "batch tokens width"], labels: Float[Tensor, "batch out"], form: Form = "correct"
) -> Float[Tensor, "out_width width_squared"]:
    """The minimiser Ŵ of Eq. 10 of smallest norm, by least squares in all its entries at once.

    The matrix X_{i,a} of Eq. 9 has the features in the a-th block of rows, and zeros elsewhere.
    """
    features, out, width = cubic_features(tokens, form).flatten(1), labels.shape[-1], tokens.shape[-1]
    blocks = torch.eye(out, dtype=features.dtype, device=features.device)
    design = torch.einsum("ac,if->iacf", blocks, features).flatten(2).flatten(0, 1)
    solution = least_squares(design, labels.flatten()[:, None])
    return solution.reshape(out * width, width * width)


def separate_regressions(
    tokens: Float[Tensor, "batch tokens width"], labels: Float[Tensor, "batch out"]
) -> Float[Tensor, "out_width width_squared"]:
    """The same minimiser by one regression for each output, all on the d³ entries of the feature matrix."""
    out, width = labels.shape[-1], tokens.shape[-1]
    rows = least_squares(cubic_features(tokens).flatten(1), labels)
    return rows.reshape(out * width, width * width)
