"""The tuples of positions that a HyperAttention sum runs over.

The paper is not of one mind: Theorem G.4 and Eqs. 42 and 43 sum over every tuple, Definitions 6.1 and G.5 over
``j1 <= j2``, Definition G.1 over ``j1 >= j2``, Remark G.2 over ``j1 > j2``, and the ternary synergies of Section 6 over
``j1 < j2``. They are different functions wherever a symbol is repeated, so the choice has a name here.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory._attention_block import count_visible
from attention_theory.validation import ParameterError, require

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
    tokens: int,
    members: int,
    sum_over: Sum,
    causal: bool,
    device: torch.device | str = "cpu",
    *,
    window: Sequence[int] | None = None,
    hidden: Bool[Tensor, "... #queries tokens"] | None = None,
) -> Bool[Tensor, "..."]:
    """The mask of Definition G.1: entry ``[i, j1, ..., j_members]`` is true where query ``i`` sums over the tuple.

    Args:
        tokens: the length ``T``.
        members: the positions in a tuple, ``n - 1`` at order ``n``.
        sum_over: how successive positions of a tuple stand to each other.
        causal: whether every position of the tuple must be ``i`` or earlier. The paper leaves this unsaid; a language
            model needs it.
        device: where the mask is.
        window: the number of tokens that each member may be taken from, counted back from ``i`` and with it.
        hidden: true where query ``i`` must not see token ``j`` as any member; its batch dimensions lead the mask.

    Raises:
        ParameterError: no token, no member or an unknown sum.
    """
    require(members=(members, 1, None), sum_over=(sum_over, SUMS))
    if not torch.compiler.is_compiling():  # there the number of tokens may be a symbol
        require(tokens=(tokens, 1, None))
    axes = [[tokens if axis == here else 1 for axis in range(members + 1)] for here in range(members + 1)]
    query, *tuples = (torch.arange(tokens, device=device).reshape(shape) for shape in axes)
    mask = torch.ones([tokens] * (members + 1), dtype=torch.bool, device=device)
    for first, second in pairwise(tuples):
        mask &= allowed_pairs(sum_over, first, second)
    for member, position in enumerate(tuples):
        if causal:
            mask &= position <= query
        if window is not None:
            mask &= position > query - window[member]
        if hidden is not None:
            mask = mask & ~hidden.reshape(*hidden.shape[:-1], *axes[member + 1][1:])
    return mask


def rows_without_tuple(
    tokens: int,
    members: int,
    sum_over: Sum,
    causal: bool,
    device: torch.device | str = "cpu",
    *,
    window: Sequence[int] | None = None,
    hidden: Bool[Tensor, "... #queries tokens"] | None = None,
) -> Bool[Tensor, "... tokens"] | None:
    """True at each query whose sum is empty, or None where no sum can be; arguments as for :func:`allowed_tuples`.

    No tuple is listed. Member ``k`` of a strictly falling tuple must see ``k`` tokens at least, because the windows of
    all members end at the query.
    """
    if hidden is None and sum_over not in ("lt", "gt"):
        return None
    needed = {"gt": range(1, members + 1), "lt": range(members, 0, -1)}.get(sum_over, [1] * members)
    every = torch.ones(tokens, dtype=torch.bool, device=device)
    empty = torch.zeros(tokens, dtype=torch.bool, device=device)
    windows: Sequence[int | None] = [None] * members if window is None else window
    for least, length in zip(needed, windows, strict=True):
        empty = empty | (count_visible(every, causal, length, hidden) < least)
    return empty


def require_tokens(queries: Float[Tensor, "... tokens rank"]) -> None:
    """Check that there is at least one query. The length of a traced sequence is a symbol and passes.

    Raises:
        ParameterError: no token.
    """
    if queries.shape[-2] == 0:
        raise ParameterError(f"queries must have at least one token, got shape {list(queries.shape)}")
