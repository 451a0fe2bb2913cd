"""The gain from wider keys: none beyond d_h = n - 1 where all examples share one context (Section 5.2, conclusion 3).

Softmax does not see a number added to all logits. With a shared context E a head therefore acts through the matrix
(I - 11^T/n) E W_K W_Q^T alone, which has rank n - 1 at most, however wide its keys are.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.memorization.attention import KeyQueryHeads
from attention_theory.validation import require


def narrowed_heads(
    heads: KeyQueryHeads, context: Float[Tensor, "tokens width"], head_width: int | None = None
) -> KeyQueryHeads:
    """Heads of a smaller key width that come closest to the given ones on one context.

    With ``head_width`` of n - 1 (the default) or more their softmax weights are the same for every query, provided that
    the tokens are independent (Assumption 2).

    Raises:
        ParameterError: a head width below 1 or above n - 1.
    """
    n = context.shape[0]
    kept = n - 1 if head_width is None else head_width
    require(head_width=(kept, 1, n - 1))
    maps = context @ heads.keys @ heads.queries.mT
    left, values, right = torch.linalg.svd(maps - maps.mean(dim=1, keepdim=True), full_matrices=False)
    keys = torch.linalg.pinv(context) @ (left[..., :kept] * values[:, None, :kept])
    return KeyQueryHeads(keys, right[:, :kept].mT)


def dimension_count(heads: int, tokens: int, width: int, head_width: int, shared: bool, outputs: int = 1) -> int:
    """The number of labels within reach, by counting: matrices of a given rank for the logits, and the read-out.

    The rank of the derivative of the outputs by all weights is never above it, and reaches it at random weights
    (:func:`~attention_theory.memorization.exact_rank.reachable_dimensions`).

    Shared contexts: n - 1 by d matrices of rank min(d_h, n - 1) and H (n - 1) + 1 independent features. A context for
    each example: d by d matrices of rank min(d_h, d) and H d features. Every output has a separate read-out.

    Raises:
        ParameterError: no head, no output, fewer than 2 tokens or not fewer than the width, or a head width below 1.
    """
    require(heads=(heads, 1, None), head_width=(head_width, 1, None), outputs=(outputs, 1, None))
    require(tokens=(tokens, 2, width - 1))
    rows = tokens - 1 if shared else width
    rank = min(head_width, rows)
    return heads * rank * (rows + width - rank) + outputs * (heads * rows + 1 if shared else heads * width)
