"""The cubic features in which multi-head linear attention is linear.

Every output is a combination of the products ``<z_j, z_k> z_{l,n}``: two feature rows of Z multiplied, times one entry
of the last token. Algorithm 8 lists all d³ of them as a matrix; Algorithm 2 lists the ψ = d²(d+1)/2 distinct ones.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.linear_attention.model.mhla import gram
from attention_theory.validation import FORMS, Form, refuse_unless, require


def cubic_features(
    tokens: Float[Tensor, "... tokens width"], form: Form = "correct"
) -> Float[Tensor, "... width width_squared"]:
    """The feature matrix 𝒳(Z) of Algorithm 8: row j, column k·d + l holds ``<z_j, z_k> z_{l,n}``.

    ``form="printed"`` gives the column order of the matrices in Eqs. 4, 8 and 68, where k runs fastest. It belongs to
    a column-major fold: with the row-major fold of Algorithm 1 it returns every Q_h transposed.

    Raises:
        ParameterError: no token; an unknown form.
    """
    require(form=(form, FORMS))
    refuse_unless(tokens.shape[-2] > 0, f"tokens must be at least one, got shape {list(tokens.shape)}")
    products, last = gram(tokens), tokens[..., -1, :]
    cubic = products[..., :, :, None] * last[..., None, None, :]
    if form == "printed":
        cubic = cubic.mT
    return cubic.flatten(-2)


def psi(width: int) -> int:
    """ψ = C(d,2) d + d² = d²(d+1)/2, the number of distinct cubic features.

    Raises:
        ParameterError: a width that is no integer from 1 on.
    """
    require(width=(width, 1, None))
    return width * width * (width + 1) // 2


def pairs(width: int, device: torch.device | str = "cpu") -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"]]:
    """The unordered pairs {j, k} of feature rows in the order of Algorithm 2: j < k first, then j = k."""
    above = torch.triu_indices(width, width, offset=1, device=device)
    same = torch.arange(width, device=device)
    return torch.cat([above[0], same]), torch.cat([above[1], same])


def certificate_features(
    tokens: Float[Tensor, "... tokens width"], is_causal: bool = False
) -> Float[Tensor, "... psi"]:
    """The feature vector H(Z) of Algorithm 2, one entry for each pair {j, k} and each l, l fastest (Eqs. 43, 44).

    With ``is_causal`` it is that of every prefix, ``(..., tokens, psi)``: position t has seen tokens 1 to t.

    Raises:
        ParameterError: no token.
    """
    refuse_unless(tokens.shape[-2] > 0, f"tokens must be at least one, got shape {list(tokens.shape)}")
    products, last = gram(tokens, is_causal), tokens if is_causal else tokens[..., -1, :]
    j, k = pairs(last.shape[-1], last.device)
    return (products[..., j, k, None] * last[..., None, :]).flatten(-2)
