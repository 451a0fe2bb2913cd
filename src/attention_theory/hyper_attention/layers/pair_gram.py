"""Linear HyperAttention of order 3 with one output, in Gram form (Appendix G.4, Theorem G.7).

In one-hot coordinates the output at a token of symbol ``a`` is ``sum over pairs p of Gamma_p C[a, p] w[p]``, with
``p`` a pair of symbols and ``Gamma`` the pair counts. This is linear attention with pairs in the place of symbols. So
the loss, its gradients and their flow are those of :mod:`attention_theory.hyper_attention.interactions.gram` and
:mod:`attention_theory.hyper_attention.interactions.flow`, with :func:`tuple_gram` for the Gram tensors.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

from attention_theory.hyper_attention.interactions.interactions import counts
from attention_theory.hyper_attention.interactions.versatility import Versatility
from attention_theory.hyper_attention.layers.linear_hyper_attention import pair_counts, tuple_counts
from attention_theory.hyper_attention.layers.sums import Sum, allowed_pairs
from attention_theory.validation import FORMS, Form, require


def tuple_gram(
    symbols: Int[Tensor, "samples tokens"], size: int, members: int = 2, sum_over: Sum = "le"
) -> Float[Tensor, "size tuples tuples"]:
    """``G[a] = (1/B) sum_n s_a vec(Gamma) vec(Gamma)^T`` (Eq. 48), for layers of order ``members + 1``.

    Raises:
        ParameterError: no token, no member or an unknown sum.
    """
    rows = tuple_counts(symbols, size, members, sum_over)
    return torch.einsum("na,np,nq->apq", counts(symbols, size), rows, rows) / len(symbols)


def tuple_versatility(
    symbols: Int[Tensor, "samples tokens"], size: int, members: int = 2, sum_over: Sum = "le"
) -> Versatility:
    """Rank and least singular value of ``Z``, for every symbol (Assumption G.10 is rank ``size ** members``).

    The rows of ``Z`` are the tuple counts of the sequences that hold the symbol. With fewer rows than combinations the
    least singular value is 0.

    Raises:
        ParameterError: no token, no member or an unknown sum.
    """
    rows = tuple_counts(symbols, size, members, sum_over)
    ranks, least = [], []
    for symbol in range(size):
        values = torch.linalg.svdvals(rows[(symbols == symbol).any(dim=1)])
        ranks.append(int((values > 1e-9 * values[0]).sum()) if len(values) else 0)
        least.append(values[-1].item() if len(values) == rows.shape[-1] else 0.0)
    return Versatility(torch.tensor(ranks, device=rows.device), rows.new_tensor(least))


def residual_map(
    symbols: Int[Tensor, "samples tokens"], size: int, value: Float[Tensor, " pairs"], sum_over: Sum = "le"
) -> Float[Tensor, "rows parameters"]:
    """``M`` of Appendix G.4: how every residual moves with ``C``; row (n, i), column (a, p) is ``X_ia w_p Gamma_p``.

    Raises:
        ParameterError: an unknown sum.
    """
    rows = pair_counts(symbols, size, sum_over).flatten(-2).to(value.dtype) * value
    hot = one_hot(symbols, size).to(rows.dtype)
    return torch.einsum("nia,np->niap", hot, rows).flatten(0, 1).flatten(1)


def four_fold_counts(
    symbols: Int[Tensor, " tokens"], size: int, form: Form = "correct", sum_over: Sum = "le"
) -> Float[Tensor, "size size size size"]:
    """The sum of Lemma G.8 written out: entry ``[v, g, s, t]`` is the sum over ``j <= k`` of ``X_jv X_jg X_ks X_kt``.

    ``form="printed"`` has ``X_jt`` in place of ``X_kt``, as the lemma does.

    Raises:
        ParameterError: an unknown form or sum.
    """
    require(form=(form, FORMS))
    hot = one_hot(symbols, size).to(torch.float64)
    position = torch.arange(len(symbols), device=symbols.device)
    allowed = allowed_pairs(sum_over, position[:, None], position).to(torch.float64)
    last = "kt" if form == "correct" else "jt"
    return torch.einsum(f"jk,jv,jg,ks,{last}->vgst", allowed, *[hot] * 4)
