"""Upper bounds on the rank of the feature matrix (Propositions 2 and 5): null vectors that can be written down."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.memorization.attention import Examples, KeyQueryHeads, logits
from attention_theory.validation import require


def block_differences(heads: int, size: int) -> Float[Tensor, "heads_times_size heads_minus_1"]:
    """Columns 1_h - 1_1 for every head h but the first, where 1_h is 1 on the h-th block of ``size`` entries.

    Softmax weights sum to 1 in every head, so these columns are null vectors of Theta (blocks of n); where the entries
    of every token sum to the same number they are null vectors of Z (blocks of d).

    Raises:
        ParameterError: no head, or an empty block.
    """
    require(heads=(heads, 1, None), size=(size, 1, None))
    indicators = torch.eye(heads, dtype=torch.float64).repeat_interleave(size, dim=0)
    return indicators[:, 1:] - indicators[:, :1]


def features_of_unnormalised_weights(
    heads: KeyQueryHeads, examples: Examples
) -> Float[Tensor, "examples heads_times_width"]:
    """The feature matrix with tanh in place of softmax: the weights no longer sum to 1, and the bound is gone."""
    return (logits(heads, examples).tanh() @ examples.contexts).flatten(1)


def rank_and_gap(matrix: Float[Tensor, "rows columns"], rank: int) -> tuple[float, float]:
    """The singular values number ``rank`` and ``rank + 1`` as shares of the largest (0 where there is none).

    Raises:
        ParameterError: a rank below 1 or beyond the matrix.
    """
    require(rank=(rank, 1, min(matrix.shape)))
    values = torch.linalg.svdvals(matrix)
    following = values[rank] if rank < len(values) else values.new_zeros(())
    return (values[rank - 1] / values[0]).item(), (following / values[0]).item()
