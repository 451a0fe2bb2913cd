"""HyperFeatureAttention: attention whose scores are entrywise products of several matrices (Section 5, App. F.2)."""

from collections.abc import Sequence
from functools import reduce
from itertools import groupby

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_theory.encodings import rotate
from attention_theory.layers import attention_weights, causal_mask
from attention_theory.validation import FORMS, Each, Form, ParameterError, require, require_some


def linear_hyper_feature_attention(
    tokens: Float[Tensor, "... tokens width"],
    scores: Float[Tensor, "order width width"],
    values: Float[Tensor, "order width features"],
    form: Form = "correct",
) -> Float[Tensor, "... tokens features"]:
    """Linear HyperFeatureAttention of order ``A`` (Definition 5.1): ``(prod_a X C_a X^T) (prod_a X W_a)``.

    Both products are entrywise. ``form="printed"`` is the sum of Appendix F.2 taken at its word: there the entrywise
    sign is missing, so that the score matrices are multiplied as matrices.

    Args:
        tokens: the sequence ``X``, tokens as rows.
        scores: the matrices ``C_a``, one a factor.
        values: the matrices ``W_a``, one a factor.
        form: as said above.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    factors = [tokens @ matrix @ tokens.mT for matrix in scores]
    join = torch.mul if form == "correct" else torch.matmul
    return reduce(join, factors) @ reduce(torch.mul, [tokens @ matrix for matrix in values])


def score_features(
    factors: Sequence[Float[Tensor, "... tokens width"]],
) -> Float[Tensor, "... tokens features"]:
    """Rows whose inner products are the products of the factors' inner products: Kronecker products row by row.

    They turn linear HyperFeatureAttention into linear attention of width ``prod_a width_a``, which grows with the order
    as a power: the factor that Table 3's linear row leaves out.

    Raises:
        ParameterError: no factor.
    """
    require_some(factors=factors)
    return reduce(lambda x, y: (x[..., :, None] * y[..., None, :]).flatten(-2), factors)


class HyperFeatureAttention(nn.Module):
    """Multihead HyperFeatureAttention (Definition F.3), a drop-in for a self-attention block.

    Head ``h`` has order ``A``: its features are cut into ``A`` parts, each with its own scores, and the softmax is of
    their entrywise product. Order 1 is ordinary multihead self-attention (Definition F.2), so a list of orders mixes
    both kinds of head, as HFA_v2 of Table 2 does.

    The paper puts no scale on the scores here, as it does in Section 2. A product of unscaled scores saturates the
    softmax, so every factor is divided by the root of its width, but with ``form="printed"``.

    Args:
        width: the features ``d`` of a token.
        orders: the order ``A`` of each head.
        value_product: multiply ``A`` value matrices entrywise too; costs ``(A - 1) d d_h`` more parameters a head.
        causal: a token looks at itself and those before it.
        rotary: rotary positions on every query and key (Remark F.5).
        form: ``"printed"`` leaves out the scale of the scores.

    Raises:
        ParameterError: the number of heads does not divide the width, or an order the features of its head; or an
            unknown form.
    """

    def __init__(
        self,
        width: int,
        orders: Sequence[int],
        value_product: bool = False,
        causal: bool = True,
        rotary: bool = False,
        form: Form = "correct",
    ) -> None:
        super().__init__()
        require(form=(form, FORMS))
        self.head_width = _head_width(width, orders)
        self.orders = list(orders)
        self.value_product, self.causal, self.rotary, self.form = value_product, causal, rotary, form
        value_width = self.head_width * (sum(orders) if value_product else len(orders))
        self.queries = nn.Linear(width, width, bias=False)
        self.keys = nn.Linear(width, width, bias=False)
        self.values = nn.Linear(width, value_width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        """``Concat(HFA^1, ..., HFA^H) W^O`` (Eqs. 39 and 40)."""
        groups = [(order, len(list(same))) for order, same in groupby(self.orders)]
        widths = [self.head_width * heads for _, heads in groups]
        value_widths = [self.head_width * heads * (order if self.value_product else 1) for order, heads in groups]
        parts = zip(
            groups,
            self.queries(x).split(widths, dim=-1),
            self.keys(x).split(widths, dim=-1),
            self.values(x).split(value_widths, dim=-1),
            strict=True,
        )
        return self.out(torch.cat([self._heads(order, *qkv) for (order, _), *qkv in parts], dim=-1))

    def _heads(self, order: int, queries: Tensor, keys: Tensor, values: Tensor) -> Float[Tensor, "batch tokens part"]:
        """The heads of one order, side by side."""
        part = self.head_width // order
        factors = [
            self._scores(q, k) for q, k in zip(_factors(queries, order, part), _factors(keys, order, part), strict=True)
        ]
        value_factors = _factors(values, order if self.value_product else 1, self.head_width)
        mask = causal_mask(queries.shape[-2], queries.device) if self.causal else None
        heads = attention_weights(reduce(torch.mul, factors), mask=mask) @ reduce(torch.mul, value_factors)
        return heads.transpose(1, 2).flatten(2)

    def _scores(self, queries: Tensor, keys: Tensor) -> Float[Tensor, "batch heads tokens tokens"]:
        if self.rotary:
            queries, keys = rotate(queries), rotate(keys)
        return (queries * queries.shape[-1] ** -0.5 if self.form == "correct" else queries) @ keys.mT


def _head_width(width: int, orders: Sequence[int]) -> int:
    """The features of a head, which the heads and then each order must divide."""
    require(width=(width, 1, None), orders=(Each(orders), 1, None))
    if width % len(orders):
        raise ParameterError(f"width must be a multiple of the {len(orders)} heads, got {width}")
    head_width = width // len(orders)
    for order in orders:
        if head_width % order:
            raise ParameterError(
                f"width / heads must be a multiple of each order, got {width} / {len(orders)} = {head_width} "
                f"features for order {order}"
            )
    return head_width


def _factors(features: Tensor, order: int, width: int) -> tuple[Float[Tensor, "batch heads tokens width"], ...]:
    """Cut (batch, tokens, heads * order * width) into one tensor a factor."""
    return features.unflatten(-1, (-1, order, width)).permute(3, 0, 2, 1, 4).unbind(0)


def hyper_feature_parameters(width: int, orders: Sequence[int], value_product: bool = False) -> int:
    """Parameters of the block: ``4 d^2``, and ``(3 + A) d^2`` with value products at one order (Remark F.4).

    Raises:
        ParameterError: as for the block.
    """
    head_width = _head_width(width, orders)
    return 3 * width**2 + width * head_width * (sum(orders) if value_product else len(orders))


def hyper_feature_flops(tokens: int, width: int, orders: Sequence[int], value_product: bool = False) -> int:
    """Multiplications and additions of the matrix products for one sequence: projections, scores, weighted sums.

    The scores of a head cost ``2 T^2 d_h`` at every order, because its factors share the head's features (Table 2).

    Raises:
        ParameterError: no token, and as for the block.
    """
    require(tokens=(tokens, 1, None))
    projections = 2 * tokens * hyper_feature_parameters(width, orders, value_product)
    return projections + 2 * 2 * tokens**2 * width


def product_flops(tokens: int, orders: Sequence[int]) -> int:
    """The entrywise multiplications that it adds to self-attention, ``(A - 1) T^2`` a head (Table 2).

    Raises:
        ParameterError: no token or an order below 1.
    """
    require(tokens=(tokens, 1, None), orders=(Each(orders), 1, None))
    return sum(order - 1 for order in orders) * tokens**2
