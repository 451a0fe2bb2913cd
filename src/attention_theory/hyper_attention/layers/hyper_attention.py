"""HyperAttention: softmax attention over tuples of tokens, as a block for a network (Section 6, Appendix G.1)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.sums import SUMS, Sum
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention
from attention_theory.validation import ParameterError, require


class HyperAttention(nn.Module):
    """Multihead HyperAttention (Definitions G.1 and G.3), a drop-in for a self-attention block.

    A head of order ``n`` weighs tuples of ``n - 1`` tokens by a softmax over products of ``n`` factors. Order 3 runs
    block by block (:func:`pair_attention`); higher orders hold every score, ``tokens ** n`` of them.

    The paper puts no scale on the scores and does not ask that a tuple lie in the past; here the scores are divided by
    the root of the rank, and ``causal`` says which tuples a token may see.

    Args:
        width: the features ``d`` of a token.
        heads: the heads ``H``.
        order: ``n``, at least 2 (ordinary attention).
        rank: the features ``R`` of a query; ``width / heads`` unless given.
        sharing: one key and one value projection for every member of the tuple (Definition G.1) or one each (G.3).
        sum_over: how the positions of a tuple stand to each other: ``ge`` in Definition G.1, ``gt`` in Remark G.2.
        causal: every member at the query or before it.
        separate_output: keep the last value factor (``d_h x R`` a head) and the output matrix (``d x d``) apart, as
            printed. They are two linear maps in a row, so by default they are one of ``d x H R``; only then does order
            3 with sharing have the parameters of self-attention.

    Raises:
        ParameterError: the number of heads does not divide the width, or another argument out of range.
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        order: int = 3,
        rank: int | None = None,
        sharing: bool = True,
        sum_over: Sum = "ge",
        causal: bool = True,
        separate_output: bool = False,
    ) -> None:
        super().__init__()
        require(sum_over=(sum_over, SUMS))
        rank = _rank(width, heads, order, rank)
        self.width, self.heads, self.order, self.rank, self.sharing = width, heads, order, rank, sharing
        self.sum_over, self.causal = sum_over, causal
        projections = 1 if sharing else order - 1
        self.queries = nn.Linear(width, heads * rank, bias=False)
        self.keys = nn.ModuleList(nn.Linear(width, heads * rank, bias=False) for _ in range(projections))
        self.values = nn.ModuleList(nn.Linear(width, heads * rank, bias=False) for _ in range(projections))
        self.last_value: nn.Module = _LastValue(width // heads, heads, rank) if separate_output else nn.Identity()
        self.out = nn.Linear(width if separate_output else heads * rank, width, bias=False)

    def forward(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        """The output of all heads (Definition G.1).

        Raises:
            ParameterError: no token, or an input of another shape.
        """
        if x.ndim != 3 or x.shape[1] == 0 or x.shape[2] != self.width:
            raise ParameterError(f"x must have shape [batch, at least 1, {self.width}], got {list(x.shape)}")
        queries = self._split(self.queries(x))
        members = (self.order - 1) if self.sharing else 1
        keys = [self._split(project(x)) for project in self.keys] * members
        values = [self._split(project(x)) for project in self.values] * members
        scale = self.rank**-0.5
        if self.order == 3:
            mixed = pair_attention(queries, *keys, *values, sum_over=self.sum_over, causal=self.causal, scale=scale)
        else:
            mixed = tuple_attention(queries, keys, values, self.sum_over, self.causal, scale)
        return self.out(self.last_value(mixed).transpose(1, 2).flatten(2))

    def _split(self, features: Tensor) -> Float[Tensor, "batch heads tokens rank"]:
        return features.unflatten(-1, (self.heads, self.rank)).transpose(1, 2)


class _LastValue(nn.Module):
    """The factor ``V^n`` of each head, from ``rank`` features to ``d_h``."""

    def __init__(self, head_width: int, heads: int, rank: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(heads, rank, head_width))
        nn.init.uniform_(self.weight, -(rank**-0.5), rank**-0.5)

    def forward(self, mixed: Float[Tensor, "batch heads tokens rank"]) -> Float[Tensor, "batch heads tokens head"]:
        return mixed @ self.weight


def hyper_attention_parameters(
    width: int,
    heads: int = 1,
    order: int = 3,
    rank: int | None = None,
    sharing: bool = True,
    separate_output: bool = False,
) -> int:
    """Parameters of :class:`HyperAttention`: ``4 d^2`` with sharing and ``2 n d^2`` without, where ``H R = d``.

    ``separate_output`` adds ``d^2``. (Definitions G.1 and G.3; Table 1.)

    Raises:
        ParameterError: as for the block.
    """
    inner = heads * _rank(width, heads, order, rank)
    projections = 1 + 2 * (1 if sharing else order - 1)
    out = (width // heads) * inner + width**2 if separate_output else width * inner
    return projections * width * inner + out


def _rank(width: int, heads: int, order: int, rank: int | None) -> int:
    """``R``, which is ``width / heads`` unless given; the heads must divide the width."""
    require(width=(width, 1, None), heads=(heads, 1, None), order=(order, 2, None))
    if width % heads:
        raise ParameterError(f"width must be a multiple of the {heads} heads, got {width}")
    rank = width // heads if rank is None else rank
    require(rank=(rank, 1, None))
    return rank


def allowed_triples(tokens: int) -> int:
    """Triples ``j2 <= j1 <= i``: the scores that a causal, ordered layer of order 3 needs (Definition G.1).

    Raises:
        ParameterError: a negative number of tokens, or one that is not whole.
    """
    require(tokens=(tokens, 0, None))
    return tokens * (tokens + 1) * (tokens + 2) // 6


def hyper_attention_flops(
    tokens: int, width: int, heads: int = 1, rank: int | None = None, sharing: bool = True
) -> int:
    """Multiplications and additions of the matrix products of a causal, ordered order-3 layer for one sequence.

    Every allowed triple costs ``2 R`` for its score and ``2 R`` for its share of the weighted sum, in every head
    (Table 3).

    Raises:
        ParameterError: no token, and as for the block.
    """
    require(tokens=(tokens, 1, None))
    inner = width if rank is None else heads * rank
    projections = 2 * tokens * hyper_attention_parameters(width, heads, 3, rank, sharing)
    return projections + 4 * inner * allowed_triples(tokens)
