"""Which tuples of positions a HyperAttention sum runs over.

The paper is not of one mind: Theorem G.4 and Eqs. 42 and 43 sum over every tuple, Definitions 6.1 and G.5 over
``j1 <= j2``, Definition G.1 over ``j1 >= j2``, Remark G.2 over ``j1 > j2``, and the ternary synergies of Section 6 over
``j1 < j2``. They are different functions wherever a symbol is repeated, so the choice has a name here.
"""

from itertools import pairwise
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_theory.validation import require

Sum = Literal["all", "le", "lt", "ge", "gt"]
SUMS: tuple[Sum, ...] = get_args(Sum)


def allowed_pairs(sum_over: Sum, first: Int[Tensor, "..."], second: Int[Tensor, "..."]) -> Bool[Tensor, "..."]:
    """True where the pair of positions ``(first, second)`` is in the sum (Definitions 6.1, G.1); the two broadcast.

    Raises:
        ParameterError: an unknown sum.
    """
    require(sum_over=(sum_over, SUMS))
    match sum_over:
        case "all":
            return torch.ones_like(first - second, dtype=torch.bool)
        case "le":
            return first <= second
        case "lt":
            return first < second
        case "ge":
            return first >= second
        case "gt":
            return first > second


def allowed_tuples(
    tokens: int, members: int, sum_over: Sum, causal: bool, device: torch.device | str = "cpu"
) -> Bool[Tensor, "tokens ..."]:
    """The mask of Definition G.1: entry ``[i, j1, ..., j_members]`` is true where query ``i`` sums over the tuple.

    Args:
        tokens: the length ``T``.
        members: the positions in a tuple, ``n - 1`` at order ``n``.
        sum_over: how successive positions of a tuple stand to each other.
        causal: whether every position of the tuple must be ``i`` or earlier. The paper leaves this unsaid; a language
            model needs it.
        device: where the mask is.

    Raises:
        ParameterError: no token, no member or an unknown sum.
    """
    require(tokens=(tokens, 1, None), members=(members, 1, None), sum_over=(sum_over, SUMS))
    position = [
        torch.arange(tokens, device=device).reshape([tokens if axis == here else 1 for axis in range(members + 1)])
        for here in range(members + 1)
    ]
    query, tuples = position[0], position[1:]
    mask = torch.ones([tokens] * (members + 1), dtype=torch.bool, device=device)
    for first, second in pairwise(tuples):
        mask &= allowed_pairs(sum_over, first, second)
    if causal:
        for one in tuples:
            mask &= one <= query
    return mask
