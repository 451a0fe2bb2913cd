"""Definitions and algorithms written out to the letter: slow forms, to set beside the fast ones."""

from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.learning.regression import least_squares
from attention_theory.linear_attention.model.features import cubic_features
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.validation import Form


def mhla_by_sums(heads: Heads, tokens: Float[Tensor, "tokens width"], asking: int = -1) -> Float[Tensor, " out"]:
    """Eq. 2 as a sum of single products over heads, tokens and features; with ``asking``, a column of Eq. 1."""
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
    """Algorithm 8, loop by loop."""
    width = tokens.shape[1]
    features = tokens.new_zeros(width, width * width)
    for j, k, last in product(range(width), repeat=3):
        features[j, k * width + last] = (tokens[:, j] * tokens[:, k]).sum() * tokens[-1, last]
    return features


def certificate_features_by_loops(tokens: Float[Tensor, "tokens width"]) -> Float[Tensor, " psi"]:
    """Algorithm 2, loop by loop."""
    width = tokens.shape[1]
    features = []
    for j in range(width):
        for k in range(j + 1, width):
            features += [(tokens[:, j] * tokens[:, k]).sum() * tokens[-1, last] for last in range(width)]
    for j in range(width):
        features += [tokens[:, j].square().sum() * tokens[-1, last] for last in range(width)]
    return torch.stack(features)


def block_design(
    tokens: Float[Tensor, "batch tokens width"], out: int, form: Form = "correct"
) -> Float[Tensor, "batch out out_width width_squared"]:
    """The matrices X_{i,a}: the feature matrix in the a-th block of rows, zeros elsewhere (Eq. 9)."""
    features = cubic_features(tokens, form)
    batch, width, columns = features.shape
    design = features.new_zeros(batch, out, out, width, columns)
    for a in range(out):
        design[:, a, a] = features
    return design.flatten(2, 3)


def literal_regression(
    tokens: Float[Tensor, "batch tokens width"], labels: Float[Tensor, "batch out"], form: Form = "correct"
) -> Float[Tensor, "out_width width_squared"]:
    """The minimiser Ŵ of Eq. 10 that has the least norm, by least squares in all its entries at once."""
    out, width = labels.shape[-1], tokens.shape[-1]
    design = block_design(tokens, out, form).flatten(2).flatten(0, 1)
    solution = least_squares(design, labels.flatten()[:, None])
    return solution.reshape(out * width, width * width)


def separate_regressions(
    tokens: Float[Tensor, "batch tokens width"], labels: Float[Tensor, "batch out"]
) -> Float[Tensor, "out_width width_squared"]:
    """The same minimiser by one regression for each output, all on the d³ entries of the feature matrix."""
    out, width = labels.shape[-1], tokens.shape[-1]
    rows = least_squares(cubic_features(tokens).flatten(1), labels)
    return rows.reshape(out * width, width * width)
