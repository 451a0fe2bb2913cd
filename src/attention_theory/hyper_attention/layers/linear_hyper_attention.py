"""Linear HyperAttention with full tensors, the functions it stands for, and the counts it reads (Section 6, App. G).

The paper's symbols: the score tensor ``C`` has ``n`` axes of width ``d``, the first for the token that looks; the value
tensor ``W`` has ``n - 1`` such axes and a last one for the outputs. In one-hot coordinates both are indexed by symbols,
and a layer of order 3 sees a sequence only through its pair counts ``Gamma``.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

from attention_theory.hyper_attention.layers.sums import Sum, allowed_pairs, allowed_tuples
from attention_theory.validation import ParameterError

_FEATURES, _MEMBERS = "abcde", "ijklm"


def linear_hyper_attention(
    tokens: Float[Tensor, "... tokens width"],
    score: Float[Tensor, "width ..."],
    value: Float[Tensor, "width ..."],
    sum_over: Sum = "le",
) -> Float[Tensor, "... tokens features"]:
    """Linear HyperAttention of order 2 to 5 (Definitions 6.1 and G.5), written out over tuples of tokens.

    Row ``i`` is the sum over the allowed tuples of ``C(x_i, x_j1, ...) W(x_j1, ...)``. Memory grows as
    ``tokens ** order``.

    Args:
        tokens: the sequence, tokens as rows.
        score: ``C``, one axis of the tokens' width for each of the ``n`` members.
        value: ``W``, ``n - 1`` such axes and a last one for the outputs.
        sum_over: which tuples; Definition 6.1 has ``le``, Theorem G.4 ``all``.

    Raises:
        ParameterError: the tensors do not have one and the same number of axes, from 2 to 5; or an unknown sum.
    """
    order = _order(score, value)
    members, features = _MEMBERS[:order], _FEATURES[:order]
    each = [f"...{member}{feature}" for member, feature in zip(members, features, strict=True)]
    weights = torch.einsum(f"{','.join(each)},{features}->...{members}", *[tokens] * order, score)
    values = torch.einsum(f"{','.join(each[1:])},{features[1:]}z->...{members[1:]}z", *[tokens] * (order - 1), value)
    return _sum_tuples(weights, values, order, sum_over)


def aggregate_tuples(
    symbols: Int[Tensor, "... tokens"],
    effect: Float[Tensor, "size ..."],
    weights: Float[Tensor, "size ..."],
    sum_over: Sum,
) -> Float[Tensor, "... tokens features"]:
    """Row ``i`` is the sum over the allowed tuples of ``f(X(i), X(j1), ...) w_{X(j1), ...}`` (Theorem G.4, Section 6).

    Read off the tables, symbol by symbol, with no layer in between.

    Raises:
        ParameterError: the tables do not have one and the same number of axes, from 2 to 5; or an unknown sum.
    """
    order = _order(effect, weights)
    tokens = symbols.shape[-1]
    place = [
        symbols.reshape(*symbols.shape[:-1], *(tokens if axis == here else 1 for axis in range(order)))
        for here in range(order)
    ]
    after = [one.squeeze(symbols.ndim - 1) for one in place[1:]]
    return _sum_tuples(effect[tuple(place)], weights[tuple(after)], order, sum_over)


def pair_counts(symbols: Int[Tensor, "... tokens"], size: int, sum_over: Sum) -> Float[Tensor, "... size size"]:
    """``Gamma[a, b]``: the allowed pairs of positions that hold the symbols ``a`` and ``b`` (Lemma G.8).

    Raises:
        ParameterError: an unknown sum.
    """
    hot = one_hot(symbols, size).to(torch.float64)
    position = torch.arange(symbols.shape[-1], device=symbols.device)
    allowed = allowed_pairs(sum_over, position[:, None], position).to(torch.float64)
    return hot.mT @ allowed @ hot


def tuple_counts(
    symbols: Int[Tensor, "... tokens"], size: int, members: int, sum_over: Sum
) -> Float[Tensor, "... combinations"]:
    """The allowed tuples of positions that hold each combination of ``members`` symbols, the last one fastest.

    With two members these are the entries of ``Gamma`` (:func:`pair_counts`), row by row (Appendix G.4).

    Raises:
        ParameterError: no token, no member or an unknown sum.
    """
    tokens = symbols.shape[-1]
    mask = allowed_tuples(tokens, members, sum_over, causal=False, device=symbols.device)[0].nonzero()
    held = torch.zeros_like(symbols[..., :1]).expand(*symbols.shape[:-1], len(mask))
    for position in mask.mT:
        held = held * size + symbols[..., position]
    zeros = torch.zeros(*symbols.shape[:-1], size**members, dtype=torch.float64, device=symbols.device)
    return zeros.scatter_add_(-1, held, torch.ones_like(held, dtype=torch.float64))


def tuple_features(
    symbols: Int[Tensor, "samples tokens"], size: int, members: int, sum_over: Sum = "all"
) -> Float[Tensor, "rows features"]:
    """Features of every token in which a layer of order ``members + 1`` is linear: its symbol times the tuple counts.

    With one member these are the features of linear attention (Eq. 30), with two those of Appendix G.4.

    Raises:
        ParameterError: no token, no member or an unknown sum.
    """
    hot = one_hot(symbols, size).to(torch.float64)
    held = tuple_counts(symbols, size, members, sum_over)
    return (hot[..., None] * held[:, None, None, :]).flatten(2).flatten(0, 1)


def tensor_from_factors(factors: Sequence[Float[Tensor, "width rank"]]) -> Float[Tensor, "width ..."]:
    """The sum over ``s`` of the outer products of the factors' columns ``s``: the low-rank form of App. G.1."""
    axes = _FEATURES[: len(factors)]
    return torch.einsum(",".join(f"{axis}s" for axis in axes) + f"->{axes}", *factors)


def factors_of(tensor: Float[Tensor, "size size size"]) -> list[Float[Tensor, "size rank"]]:
    """Factors of any tensor with three axes, of rank ``size ** 2``: the first takes ``tensor[:, b, c]`` as columns.

    The other two are unit vectors ``e_b`` and ``e_c``. This proves Theorem G.4 for the factored layer, with the rank
    that the statement leaves out.
    """
    size = tensor.shape[1]
    unit = torch.eye(size, dtype=tensor.dtype, device=tensor.device)
    return [tensor.flatten(1), unit.repeat_interleave(size, dim=1), unit.repeat(1, size)]


def shared_factors_of(tensor: Float[Tensor, "size size size"]) -> list[Float[Tensor, "size rank"]]:
    """Factors whose last two are the same matrix, of rank ``size ** 2``, for a tensor symmetric in its last two axes.

    The pair ``e_b, e_c`` is made from squares: ``e_b e_c + e_c e_b`` is half of ``(e_b + e_c)^2 - (e_b - e_c)^2``. This
    is the variant with parameter sharing of Theorem G.4.

    Raises:
        ParameterError: the tensor is not symmetric in its last two axes; with sharing no other can be made.
    """
    if not torch.equal(tensor, tensor.transpose(1, 2)):
        raise ParameterError("tensor must be symmetric in its last two axes: shared factors give no other")
    size = tensor.shape[1]
    unit = torch.eye(size, dtype=tensor.dtype, device=tensor.device)
    columns, keys = [tensor[:, b, b] for b in range(size)], [unit[b] for b in range(size)]
    for b in range(size):
        for c in range(b):
            columns += [tensor[:, b, c] / 2, -tensor[:, b, c] / 2]
            keys += [unit[b] + unit[c], unit[b] - unit[c]]
    shared = torch.stack(keys, dim=1)
    return [torch.stack(columns, dim=1), shared, shared]


def _order(score: Tensor, value: Tensor) -> int:
    if score.ndim != value.ndim or not 2 <= score.ndim <= 5:
        raise ParameterError(
            f"score and value must have one and the same number of axes, from 2 to 5, got {score.ndim} and {value.ndim}"
        )
    return score.ndim


def _sum_tuples(weights: Tensor, values: Tensor, order: int, sum_over: Sum) -> Float[Tensor, "... tokens features"]:
    """Sum over the allowed tuples of ``weights[..., i, j1, ...] * values[..., j1, ..., features]``."""
    mask = allowed_tuples(weights.shape[-1], order - 1, sum_over, causal=False, device=weights.device)
    members = _MEMBERS[:order]
    return torch.einsum(f"...{members},...{members[1:]}z->...iz", weights * mask, values)
