"""Self-attention with softmax and without: the two layers of Section 2.

The paper's symbols: tokens are the rows of ``X`` (``L`` of them, width ``d``), the score matrix is
``C = W_Q W_K^T / sqrt(d_k)``, the value matrix ``W_V`` has ``d_2`` columns.
"""

from jaxtyping import Float
from torch import Tensor

from attention_theory.layers import attention


def softmax_attention(
    tokens: Float[Tensor, "... tokens width"],
    query: Float[Tensor, "width inner"],
    key: Float[Tensor, "width inner"],
    value: Float[Tensor, "width features"],
) -> Float[Tensor, "... tokens features"]:
    """Row-wise softmax of ``X W_Q (X W_K)^T / sqrt(d_k)``, times ``X W_V`` (Section 2)."""
    return attention(tokens @ query, tokens @ key, tokens @ value, scale=query.shape[-1] ** -0.5)


def linear_attention(
    tokens: Float[Tensor, "... tokens width"],
    score: Float[Tensor, "... width width"],
    value: Float[Tensor, "... width features"],
) -> Float[Tensor, "... tokens features"]:
    """``(X C X^T) X W_V`` (Eq. 1), multiplied from the right: the cost is linear in the number of tokens."""
    return tokens @ (score @ (tokens.mT @ (tokens @ value)))
