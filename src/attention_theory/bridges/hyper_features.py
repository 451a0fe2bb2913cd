"""Features in which linear HyperAttention is linear: a query times a sum over tuples of products (Bridge 2).

A head of order ``s`` has a score tensor C with s axes and value tensors W_a with ``s - 1``. Its output

    ``Σ over tuples C(q, z_1, ...) W_a(z_1, ...) = <C ⊗ W_a, q ⊗ Σ over tuples (z_1 z_1ᵀ) ⊗ ... ⊗ (z_{s-1} z_{s-1}ᵀ)>``

is linear in a tensor that depends on the input alone. Over all tuples that tensor is ``q ⊗ G ⊗ ... ⊗ G`` with
``G = Σ z zᵀ``; at order 2 it is the feature matrix of linear attention (Section 3 of that paper).
"""

import math

import torch
from jaxtyping import Float, Num
from torch import Tensor

from attention_theory.hyper_attention.layers.sums import Sum, allowed_pairs
from attention_theory.validation import require, require_shape, require_some


def _products(tokens: Num[Tensor, "... width"], scaled: bool = True) -> Num[Tensor, "... pairs"]:
    """The ``D = d (d + 1) / 2`` distinct entries of ``z zᵀ``; ``scaled``, those off the diagonal times the root of 2.

    Scaled, the inner product of two of them is ``<z, z'>²``. Unscaled, whole numbers stay whole.
    """
    width = tokens.shape[-1]
    first, second = torch.triu_indices(width, width, device=tokens.device)
    found = tokens[..., first] * tokens[..., second]
    return torch.where(first == second, found, found * math.sqrt(2)) if scaled else found


def hyper_features(
    queries: Num[Tensor, "... width"],
    tokens: Num[Tensor, "... tokens width"],
    order: int,
    sum_over: Sum = "all",
    scaled: bool = True,
) -> Num[Tensor, "... features"]:
    """``q ⊗ Σ over tuples P(z_1) ⊗ ... ⊗ P(z_{s-1})`` with P the distinct :func:`_products`: ``d D^(s-1)`` entries.

    The sum over tuples is built member by member, so that its time is linear in the order.

    Args:
        queries: the tokens that look; of the same leading dimensions as ``tokens``.
        tokens: those that are looked at, as rows.
        order: s, at least 2.
        sum_over: which tuples (Definition 6.1 has ``le``).
        scaled: as in :func:`_products`.

    Raises:
        ParameterError: an order below 2, no token, or an unknown sum.
    """
    require(order=(order, 2, None))
    require_some(tokens=tokens)
    each = _products(tokens, scaled)
    allowed = _allowed(tokens, sum_over).to(each.dtype)
    run = each
    for _ in range(order - 2):
        before = torch.einsum("...jp,jk->...kp", run, allowed)
        run = (before[..., :, None] * each[..., None, :]).flatten(-2)
    return (queries[..., :, None] * run.sum(dim=-2)[..., None, :]).flatten(-2)


def score_value_features(
    queries: Float[Tensor, "samples width"],
    tokens: Float[Tensor, "samples tokens width"],
    order: int,
    sum_over: Sum = "all",
) -> Float[Tensor, "samples scores values"]:
    """The features as a matrix for each sample: a head's output is ``C · M W`` with C and W written out as vectors.

    Rows are the ``d^s`` entries of a score tensor, columns the ``d^(s-1)`` of a value tensor.

    Raises:
        ParameterError: as :func:`hyper_features`.
    """
    require(order=(order, 2, None))
    require_some(tokens=tokens)
    width, members = tokens.shape[-1], order - 1
    each = (tokens[..., :, None] * tokens[..., None, :]).flatten(-2)
    allowed = _allowed(tokens, sum_over).to(each.dtype)
    run = each
    for _ in range(order - 2):
        run = (torch.einsum("...jp,jk->...kp", run, allowed)[..., :, None] * each[..., None, :]).flatten(-2)
    split = run.sum(dim=1).reshape(len(tokens), *[width] * (2 * members))
    axes = [0, *range(1, 2 * members, 2), *range(2, 2 * members + 1, 2)]
    matrix = split.permute(axes).reshape(len(tokens), 1, width**members, width**members)
    return (queries[:, :, None, None] * matrix).flatten(1, 2)


def hyper_kernel(
    queries: Float[Tensor, "inputs width"],
    tokens: Float[Tensor, "inputs tokens width"],
    other_queries: Float[Tensor, "others width"],
    other_tokens: Float[Tensor, "others _tokens width"],
    order: int,
    sum_over: Sum = "all",
) -> Float[Tensor, "inputs others"]:
    """The inner products of the features, in time linear in the order and without a tensor of that order.

    With ``K_jk = <z_j, z'_k>²`` it is ``<q, q'> (Σ K)^(s-1) = <q, q'> ‖Z Z'ᵀ‖^(2 (s-1))`` over all tuples; over ordered
    ones K is multiplied in entry by entry, summed over what may come before.

    Raises:
        ParameterError: an order below 2, no token, or an unknown sum.
    """
    require(order=(order, 2, None))
    require_some(tokens=tokens, other_tokens=other_tokens)
    each = torch.einsum("isw,jtw->ijst", tokens, other_tokens).square()
    if sum_over == "all":
        return (queries @ other_queries.mT) * each.sum(dim=(-2, -1)) ** (order - 1)
    left, right = (_allowed(one, sum_over).to(each.dtype) for one in (tokens, other_tokens))
    run = each
    for _ in range(order - 2):
        run = each * (left.mT @ run @ right)
    return (queries @ other_queries.mT) * run.sum(dim=(-2, -1))


def _allowed(tokens: Tensor, sum_over: Sum) -> Tensor:
    place = torch.arange(tokens.shape[-2], device=tokens.device)
    return allowed_pairs(sum_over, place[:, None], place)


def hyper_feature_count(width: int, order: int, sum_over: Sum = "all") -> int:
    """ψ_s, the most independent features: ``d C(D + s - 2, s - 1)`` over all tuples, ``d D^(s-1)`` over ordered ones.

    At order 2 both are the ψ of linear attention's Algorithm 2. Inputs of s tokens are enough to reach it.

    Raises:
        ParameterError: a width below 1 or an order below 2.
    """
    require(width=(width, 1, None), order=(order, 2, None))
    pairs, members = width * (width + 1) // 2, order - 1
    return width * (math.comb(pairs + members - 1, members) if sum_over == "all" else pairs**members)


def _lift(coefficients: Float[Tensor, "out features"], width: int, order: int) -> Float[Tensor, "rows columns"]:
    """The ``d^s × out d^(s-1)`` matrix of coefficients of :func:`hyper_features`: one head for each rank-one term.

    Rows are the indices of a score tensor, columns those of the value tensors, the output first. Of all matrices that
    make the same function it has the least norm.

    Raises:
        ParameterError: coefficients that are not of this width and order.
    """
    pairs, members, out = width * (width + 1) // 2, order - 1, len(coefficients)
    require_shape(coefficients=(coefficients, (None, width * pairs**members)))
    first, second = torch.triu_indices(width, width, device=coefficients.device)
    basis = coefficients.new_zeros(pairs, width, width)
    basis[torch.arange(pairs), first, second] = 0.5**0.5
    basis[torch.arange(pairs), second, first] = 0.5**0.5
    basis[torch.arange(pairs)[first == second], first[first == second], first[first == second]] = 1.0
    tensor = coefficients.reshape(out, width, *[pairs] * members)
    for _ in range(members):  # the first of the axes left becomes a pair of axes at the end
        tensor = torch.tensordot(tensor, basis, dims=([2], [0]))
    scores, values = [1, *range(2, 2 + 2 * members, 2)], [0, *range(3, 3 + 2 * members, 2)]
    return tensor.permute(*scores, *values).reshape(width**order, out * width**members)


def hyper_heads(
    coefficients: Float[Tensor, "out features"], width: int, order: int, rtol: float = 1e-10
) -> list[tuple[Tensor, Tensor]]:
    """The least number of heads (C, W) that make the function of a lifted matrix, by its singular values.

    W has its output as the last axis, as in :func:`.linear_hyper_attention`. At most ``min(d^s, out d^(s-1))`` heads.

    Raises:
        ParameterError: coefficients that are not of this width and order, or ``rtol`` outside [0, 1].
    """
    require(rtol=(rtol, 0.0, 1.0))
    out, members = len(coefficients), order - 1
    left, values, right = torch.linalg.svd(_lift(coefficients, width, order), full_matrices=False)
    kept = int((values > rtol * values[0]).sum())
    roots = values[:kept].sqrt()
    scores = (left[:, :kept] * roots).mT.reshape(kept, *[width] * order)
    weights = (roots[:, None] * right[:kept]).reshape(kept, out, *[width] * members).movedim(1, -1)
    return list(zip(scores.unbind(), weights.unbind(), strict=True))
