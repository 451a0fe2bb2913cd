"""Softmax attention over pairs of tokens, order 3, without ever holding a score for every triple.

The score of query ``i`` and pair ``(j1, j2)`` is ``(Q[i] * K1[j1]) . K2[j2]``: attention from the lifted queries
``Q[i] * K1[j1]`` to the keys ``K2``. So a block of positions ``j1`` costs two ordinary matrix products, and a softmax
kept online (running largest score and running sum, renormalised when a block brings a larger one) joins the blocks. The
backward pass makes each block's weights again from the stored log of the sum. Memory is one block. Ordered and causal
sums leave out the queries before a block and the keys after it, which spares five sixths of the work.

The transforms of :mod:`torch.func` apply. ``torch.compile`` sees the two passes as two operators; an exported graph,
which must run without this package, holds the literal form and so every score.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from attention_theory.hyper_attention.layers.sums import SUMS, Sum, allowed_pairs, require_tokens, rows_without_tuple
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention
from attention_theory.validation import require

#: Scores held at once, unless one position ``j1`` alone takes more: what a core's cache holds, and on a GPU enough to
#: keep it busy.
_BLOCK_SCORES = 1 << 18
_GPU_BLOCK_SCORES = 1 << 26

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
    hidden: Bool[Tensor, "... #queries tokens"] | None = None,
    block: int | None = None,
) -> Float[Tensor, "... tokens features"]:
    """HyperAttention of order 3 (Definitions G.1 and G.3): a softmax over pairs of tokens, block by block.

    ``out[i, r] = sum over (j1, j2) of A[i, j1, j2] V1[j1, r] V2[j2, r]``, with ``A`` the softmax over the allowed pairs
    of ``scale * sum over s of Q[i, s] K1[j1, s] K2[j2, s]``. A query without an allowed pair gets 0. A second
    derivative holds every score, as the literal form does.

    Args:
        sum_over: which pairs are in the sum.
        causal: whether both members must be at the query or before it.
        hidden: true where query ``i`` must not see token ``j`` as either member.
        block: positions ``j1`` taken at once, at least 1; chosen to fit :data:`_BLOCK_SCORES` unless given.

    Raises:
        ParameterError: an unknown sum, no token, or a block below 1.
    """
    require(sum_over=(sum_over, SUMS), block=(1 if block is None else block, 1, None))
    tokens = queries.shape[-2]
    require_tokens(queries)
    if torch.compiler.is_exporting():
        keys, values = [first_keys, second_keys], [first_values, second_values]
        return tuple_attention(queries, keys, values, sum_over, causal, scale, hidden=hidden)
    if sum_over in _EXCHANGED:
        first_keys, second_keys = second_keys, first_keys
        first_values, second_values = second_values, first_values
        sum_over = _EXCHANGED[sum_over]
    factors = (queries * scale, first_keys, second_keys, first_values, second_values)
    # torch.broadcast_shapes would load sympy, and 36 MB with it.
    lead = torch.broadcast_tensors(*(x[..., :0, :0] for x in factors))[0].shape[:-2]
    flat = [_flat(x, lead) for x in factors]
    run = _forward_operator if torch.compiler.is_compiling() else _PairAttention.apply
    out, log_total = run(*flat, _flat_mask(hidden, lead), sum_over, causal, block)
    out, log_total = out.unflatten(0, lead or (1,)), log_total.unflatten(0, lead or (1,))
    # A total of 0 is that of a query without a pair, or of one whose scores all overflowed: that one must be seen.
    empty = rows_without_tuple(tokens, 2, sum_over, causal, queries.device, hidden=hidden)
    lost = log_total <= torch.finfo(log_total.dtype).min
    lost = lost if empty is None else lost & ~empty
    out = out + torch.where(lost, torch.nan, 0.0).to(out.dtype)[..., None]
    return out if lead else out.squeeze(0)


def _flat(x: Tensor, lead: torch.Size) -> Shaped[Tensor, "batch tokens features"]:
    return x.expand(*lead, *x.shape[-2:]).reshape(lead.numel(), *x.shape[-2:])


def _flat_mask(hidden: Tensor | None, lead: torch.Size) -> Bool[Tensor, "#batch #queries tokens"] | None:
    """One mask for the whole batch where it is one, else one for each of the batch."""
    if hidden is None or hidden.shape[:-2].numel() == 1:
        return None if hidden is None else hidden.reshape(1, *hidden.shape[-2:])
    return _flat(hidden, lead)


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

    def scores(
        self, queries: Tensor, keys1: Tensor, keys2: Tensor, hidden: Tensor | None = None
    ) -> Float[Tensor, "batch first queries second"]:
        """The scores of the block's triples, minus infinity at those that are not in the sum.

        What the slices leave in wrongly stands in its first queries and its last second members; nothing else is
        looked at, except in the causal sum over all pairs.
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
        if hidden is not None:
            rows = hidden if hidden.shape[1] == 1 else hidden[:, self.queries]
            scores = scores.masked_fill(rows[..., self.first].mT[..., None], -torch.inf)
            scores = scores.masked_fill(rows[:, None, :, self.second], -torch.inf)
        return scores


@dataclass(frozen=True)
class _Sum:
    tokens: int
    sum_over: Sum
    causal: bool
    block: int

    @classmethod
    def over(cls, queries: Tensor, sum_over: Sum, causal: bool, block: int | None) -> "_Sum":
        """A sum whose blocks are as long as given, or as :data:`_BLOCK_SCORES` allows."""
        batch, tokens = queries.shape[:2]
        if block is None:
            held = _BLOCK_SCORES if queries.device.type == "cpu" else _GPU_BLOCK_SCORES
            block = min(tokens, max(1, held // (max(batch, 1) * tokens * tokens)))
            if causal:  # what a block spares is what lies before it: a few blocks there must be
                block = min(block, max(1, tokens // 4))
        return cls(tokens, sum_over, causal, block)

    def blocks(self) -> Iterator[_Block]:
        for start in range(0, self.tokens, self.block):
            stop = min(start + self.block, self.tokens)
            queries = slice(start if self.causal else 0, self.tokens)
            second = slice(0, self.tokens if self.sum_over == "all" else stop)
            yield _Block(slice(start, stop), queries, second, self.sum_over, self.causal)


def _forward(
    queries: Tensor,
    keys1: Tensor,
    keys2: Tensor,
    values1: Tensor,
    values2: Tensor,
    hidden: Tensor | None,
    sum_over: Sum,
    causal: bool,
    block: int | None,
) -> tuple[Tensor, Tensor]:
    """The outputs, and for each query the log of its sum of exponentials: the lowest number where there is none."""
    out = values1.new_zeros(values1.shape)
    total = queries.new_zeros(queries.shape[:2])
    # The lowest finite number, not minus infinity: the difference of two of them is 0 and not NaN.
    largest = torch.full_like(total, torch.finfo(total.dtype).min)
    for part in _Sum.over(queries, sum_over, causal, block).blocks():
        seen = (slice(None), part.queries)
        weights = part.scores(queries, keys1, keys2, hidden)
        top = torch.maximum(largest[seen], weights.amax((1, 3)))
        weights = weights.sub_(top[:, None, :, None]).exp_()
        renormalise = (largest[seen] - top).exp()
        mixed = part.by_first(weights.flatten(1, 2) @ values2[:, part.second])
        total[seen] = total[seen] * renormalise + weights.sum(-1).sum(1)
        out[seen] = out[seen] * renormalise[..., None] + (mixed * values1[:, part.first, None]).sum(1)
        largest[seen] = top
    # The largest score counts 1, so the total is at least 1, or 0 for a query without a pair.
    total.clamp_(min=1.0)
    out /= total[..., None]
    return out, largest + total.log()


def _backward(
    grad: Tensor,
    grad_log: Tensor,
    queries: Tensor,
    keys1: Tensor,
    keys2: Tensor,
    values1: Tensor,
    values2: Tensor,
    hidden: Tensor | None,
    out: Tensor,
    log_total: Tensor,
    sum_over: Sum,
    causal: bool,
    block: int | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    slack = (grad * out).sum(-1) - grad_log
    # Made from the slack, which under ``vmap`` has the mapped axis of all that is added to them.
    d_queries, d_keys1, d_keys2 = (slack.new_zeros(x.shape) for x in (queries, keys1, keys2))
    d_values1, d_values2 = (slack.new_zeros(x.shape) for x in (values1, values2))
    for part in _Sum.over(queries, sum_over, causal, block).blocks():
        seen, first, second = (slice(None), part.queries), part.first, part.second
        weights = part.scores(queries, keys1, keys2, hidden)
        weights = weights.sub_(log_total[seen][:, None, :, None]).exp_().flatten(1, 2)
        lifted_grad = part.lifted(grad, values1)
        d_values2[:, second] += weights.mT @ lifted_grad
        d_values1[:, first] += (part.by_first(weights @ values2[:, second]) * grad[seen][:, None]).sum(2)
        d_scores = part.by_first(lifted_grad @ values2[:, second].mT).sub_(slack[seen][:, None, :, None])
        d_scores = d_scores.flatten(1, 2).mul_(weights)
        del weights, lifted_grad
        d_keys2[:, second] += d_scores.mT @ part.lifted(queries, keys1)
        d_lifted = part.by_first(d_scores @ keys2[:, second])
        d_queries[seen] += (d_lifted * keys1[:, first, None]).sum(1)
        d_keys1[:, first] += (d_lifted * queries[seen][:, None]).sum(2)
    return d_queries, d_keys1, d_keys2, d_values1, d_values2


# For ``torch.compile`` each pass is one operator, so that the graph does not depend on the number of blocks.
_OPTIONS = "Tensor queries, Tensor keys1, Tensor keys2, Tensor values1, Tensor values2, Tensor? hidden"
_SUM = "str sum_over, bool causal, int? block"
_forward_operator = torch.library.custom_op(
    "attention_theory::pair_forward", _forward, mutates_args=(), schema=f"({_OPTIONS}, {_SUM}) -> (Tensor, Tensor)"
)
_backward_operator = torch.library.custom_op(
    "attention_theory::pair_backward",
    _backward,
    mutates_args=(),
    schema=f"(Tensor grad, Tensor grad_log, {_OPTIONS}, Tensor out, Tensor log_total, {_SUM})"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
)


@_forward_operator.register_fake
def _forward_shapes(queries: Tensor, *inputs: Any) -> tuple[Tensor, Tensor]:
    values = inputs[2]
    return values.new_empty(values.shape), queries.new_empty(queries.shape[:2])


@_backward_operator.register_fake
def _backward_shapes(grad: Tensor, grad_log: Tensor, *inputs: Any) -> tuple[Tensor, ...]:
    return tuple(x.new_empty(x.shape) for x in inputs[:5])


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.over = inputs[6:]
    ctx.save_for_backward(*inputs[:6], *output)


def _compiled_backward(ctx: Any, grad: Tensor, grad_log: Tensor) -> tuple[Tensor | None, ...]:
    return *_backward_operator(grad, grad_log, *ctx.saved_tensors, *ctx.over), None, None, None, None


_forward_operator.register_autograd(_compiled_backward, setup_context=_save)


class _PairAttention(torch.autograd.Function):
    """The same for eager tensors, with the derivatives and transforms that an operator does not have."""

    @staticmethod
    def forward(*inputs: Any) -> tuple[Tensor, Tensor]:
        return _forward(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        _save(ctx, inputs, output)
        ctx.save_for_forward(*inputs[:6], *output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, grad_log: Tensor) -> tuple[Tensor | None, ...]:
        return *_backward(grad, grad_log, *ctx.saved_tensors, *ctx.over), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor, Tensor]:
        """The derivatives of the outputs and of the log of the sum along those of the inputs, block by block."""
        *rows, hidden, out, log_total = ctx.saved_tensors
        queries, keys1, keys2, values1, values2 = rows
        d_queries, d_keys1, d_keys2, d_values1, d_values2 = tangents[:5]
        # As in the backward pass: under ``vmap`` sums must begin with the mapped axis of all that is added to them.
        nothing = sum(x[:0].sum() for x in [*rows, *tangents[:5]])
        d_out, d_log = torch.zeros_like(out) + nothing, torch.zeros_like(log_total) + nothing
        for part in _Sum.over(queries, *ctx.over).blocks():
            seen, second = (slice(None), part.queries), part.second
            weights = part.scores(queries, keys1, keys2, hidden)
            weights = (weights - log_total[seen][:, None, :, None]).exp().flatten(1, 2)
            d_lifted = part.lifted(d_queries, keys1) + part.lifted(queries, d_keys1)
            d_scores = d_lifted @ keys2[:, second].mT + part.lifted(queries, keys1) @ d_keys2[:, second].mT
            moved = weights * d_scores
            mixed = part.by_first(weights @ values2[:, second])
            d_mixed = part.by_first(moved @ values2[:, second] + weights @ d_values2[:, second])
            d_log[seen] += part.by_first(moved).sum((1, 3))
            d_out[seen] += (d_mixed * values1[:, part.first, None] + mixed * d_values1[:, part.first, None]).sum(1)
        return d_out - d_log[..., None] * out, d_log

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Any, Any]:
        """The mapped axis becomes part of the batch."""

        def mapped_first(x: Tensor, dim: int | None) -> Tensor:
            return x.unsqueeze(0).expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)

        factors = [mapped_first(x, dim) for x, dim in zip(inputs[:5], in_dims[:5], strict=True)]
        lead, hidden = factors[0].shape[:2], inputs[5]
        hidden = None if hidden is None else mapped_first(hidden, in_dims[5]).expand(*lead, -1, -1).flatten(0, 1)
        outputs = _PairAttention.apply(*(x.flatten(0, 1) for x in factors), hidden, *inputs[6:])
        return tuple(x.unflatten(0, lead) for x in outputs), (0, 0)
