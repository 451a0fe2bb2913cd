"""Softmax attention over pairs of tokens, order 3, without ever holding a score for every triple.

The score of query ``i`` and pair ``(j1, j2)`` is ``(Q[i] * K1[j1]) . K2[j2]``: attention from the lifted queries
``Q[i] * K1[j1]`` to the keys ``K2``. So a block of positions ``j1`` costs two ordinary matrix products, and a softmax
kept online (running largest score and running sum, renormalised when a block brings a larger one) joins the blocks. The
backward pass makes each block's weights again from the stored log of the sum. Memory is one block. Ordered and causal
sums leave out the queries before a block and the keys after it, which spares five sixths of the work.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_theory.hyper_attention.layers.sums import SUMS, Sum, allowed_pairs
from attention_theory.validation import ParameterError, require

#: Scores held at once, unless one position ``j1`` alone takes more: what a core's cache holds, and on a GPU enough to
#: keep it busy.
BLOCK_SCORES = 1 << 18
GPU_BLOCK_SCORES = 1 << 26

#: The same sum with the roles of the two members exchanged.
_EXCHANGED: dict[Sum, Sum] = {"le": "ge", "lt": "gt"}


def pair_attention(
    queries: Float[Tensor, "... tokens rank"],
    first_keys: Float[Tensor, "... tokens rank"],
    second_keys: Float[Tensor, "... tokens rank"],
    first_values: Float[Tensor, "... tokens features"],
    second_values: Float[Tensor, "... tokens features"],
    *,
    sum_over: Sum = "ge",
    causal: bool = True,
    scale: float = 1.0,
    block: int | None = None,
) -> Float[Tensor, "... tokens features"]:
    """HyperAttention of order 3 (Definitions G.1 and G.3): a softmax over pairs of tokens, block by block.

    ``out[i, r] = sum over (j1, j2) of A[i, j1, j2] V1[j1, r] V2[j2, r]``, with ``A`` the softmax over the allowed pairs
    of ``scale * sum over s of Q[i, s] K1[j1, s] K2[j2, s]``. A query without an allowed pair gets 0. Differentiable
    once.

    Args:
        sum_over: which pairs are in the sum.
        causal: whether both members must be at the query or before it.
        block: positions ``j1`` taken at once, at least 1; chosen to fit :data:`BLOCK_SCORES` unless given.

    Raises:
        ParameterError: an unknown sum, no token, or a block below 1.
    """
    require(sum_over=(sum_over, SUMS))
    if queries.shape[-2] == 0:
        raise ParameterError(f"queries must have at least one token, got shape {list(queries.shape)}")
    if sum_over in _EXCHANGED:
        first_keys, second_keys = second_keys, first_keys
        first_values, second_values = second_values, first_values
        sum_over = _EXCHANGED[sum_over]
    tokens = queries.shape[-2]
    factors = (queries * scale, first_keys, second_keys, first_values, second_values)
    # torch.broadcast_shapes would load sympy, and 36 MB with it.
    lead = torch.broadcast_tensors(*(x[..., :0, :0] for x in factors))[0].shape[:-2]
    batch = lead.numel()
    if block is None:
        held = BLOCK_SCORES if queries.device.type == "cpu" else GPU_BLOCK_SCORES
        block = min(tokens, max(1, held // (max(batch, 1) * tokens * tokens)))
        if causal:  # what a block spares is what lies before it: a few blocks there must be
            block = min(block, max(1, tokens // 4))
    require(block=(block, 1, None))
    flat = [x.expand(*lead, *x.shape[-2:]).reshape(batch, *x.shape[-2:]) for x in factors]
    out = _PairAttention.apply(*flat, _Sum(tokens, sum_over, causal, block))
    return out.reshape(*lead, tokens, -1)


@dataclass(frozen=True)
class _Block:
    """A block of first members: the queries that may see it, the second members that go with it."""

    first: slice
    queries: slice
    second: slice
    sum_over: Sum
    causal: bool

    def lifted(self, rows: Tensor, factors: Tensor) -> Tensor:
        """``rows[i] * factors[j1]`` for the block's queries and first members: (batch, first * queries, width)."""
        return (factors[:, self.first, None] * rows[:, None, self.queries]).flatten(1, 2)

    def by_first(self, lifted: Tensor) -> Tensor:
        """(batch, first * queries, width) with its first axis apart again: (batch, first, queries, width)."""
        return lifted.unflatten(1, (self.first.stop - self.first.start, -1))

    def scores(self, queries: Tensor, keys1: Tensor, keys2: Tensor) -> Float[Tensor, "batch first queries second"]:
        """The scores of the block's triples, minus infinity at those that are not in the sum.

        What the slices leave in wrongly stands in its first queries and its last second members; nothing else is
        looked at, but for the causal sum over all pairs.
        """
        scores = self.by_first(self.lifted(queries, keys1) @ keys2[:, self.second].mT)
        place = torch.arange(max(self.queries.stop, self.second.stop), device=scores.device)
        first, i, second = place[self.first, None, None], place[self.queries, None], place[self.second]
        if self.causal:
            early = self.first.stop - self.queries.start
            scores[:, :, :early].masked_fill_(first > i[:early], -torch.inf)
        if self.sum_over != "all":
            last = second[self.first.start :]
            scores[..., self.first.start :].masked_fill_(~allowed_pairs(self.sum_over, first, last), -torch.inf)
        elif self.causal:
            scores.masked_fill_(second > i, -torch.inf)
        return scores


@dataclass(frozen=True)
class _Sum:
    tokens: int
    sum_over: Sum
    causal: bool
    block: int

    def blocks(self) -> Iterator[_Block]:
        for start in range(0, self.tokens, self.block):
            stop = min(start + self.block, self.tokens)
            queries = slice(start if self.causal else 0, self.tokens)
            second = slice(0, self.tokens if self.sum_over == "all" else stop)
            yield _Block(slice(start, stop), queries, second, self.sum_over, self.causal)


class _PairAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, keys1: Tensor, keys2: Tensor, values1: Tensor, values2: Tensor, over: _Sum
    ) -> Tensor:
        out = values1.new_zeros(values1.shape)
        total = queries.new_zeros(queries.shape[:2])
        # The lowest finite number, not minus infinity: the difference of two of them is 0 and not NaN.
        largest = torch.full_like(total, torch.finfo(total.dtype).min)
        for block in over.blocks():
            seen = (slice(None), block.queries)
            weights = block.scores(queries, keys1, keys2)
            top = torch.maximum(largest[seen], weights.amax((1, 3)))
            weights = weights.sub_(top[:, None, :, None]).exp_()
            renormalise = (largest[seen] - top).exp()
            mixed = block.by_first(weights.flatten(1, 2) @ values2[:, block.second])
            total[seen] = total[seen] * renormalise + weights.sum(-1).sum(1)
            out[seen] = out[seen] * renormalise[..., None] + (mixed * values1[:, block.first, None]).sum(1)
            largest[seen] = top
        # The largest score counts 1, so the total is at least 1, or 0 for a query without a pair.
        total.clamp_(min=1.0)
        out /= total[..., None]
        ctx.over = over
        ctx.save_for_backward(queries, keys1, keys2, values1, values2, out, largest + total.log())
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys1, keys2, values1, values2, out, log_total = ctx.saved_tensors
        d_queries, d_keys1, d_keys2 = torch.zeros_like(queries), torch.zeros_like(keys1), torch.zeros_like(keys2)
        d_values1, d_values2 = torch.zeros_like(values1), torch.zeros_like(values2)
        slack = (grad * out).sum(-1)
        for block in ctx.over.blocks():
            seen, first, second = (slice(None), block.queries), block.first, block.second
            weights = block.scores(queries, keys1, keys2)
            weights = weights.sub_(log_total[seen][:, None, :, None]).exp_().flatten(1, 2)
            lifted_grad = block.lifted(grad, values1)
            d_values2[:, second] += weights.mT @ lifted_grad
            d_values1[:, first] += (block.by_first(weights @ values2[:, second]) * grad[seen][:, None]).sum(2)
            d_scores = block.by_first(lifted_grad @ values2[:, second].mT).sub_(slack[seen][:, None, :, None])
            d_scores = d_scores.flatten(1, 2).mul_(weights)
            del weights, lifted_grad
            d_keys2[:, second] += d_scores.mT @ block.lifted(queries, keys1)
            d_lifted = block.by_first(d_scores @ keys2[:, second])
            d_queries[seen] += (d_lifted * keys1[:, first, None]).sum(1)
            d_keys1[:, first] += (d_lifted * queries[seen][:, None]).sum(2)
        return d_queries, d_keys1, d_keys2, d_values1, d_values2, None
