"""Gradient flow of linear HyperAttention of order 3 with one output (Appendix G.4, Theorem G.7).

In one-hot coordinates the output at a token of symbol ``a`` is ``sum over pairs p of Gamma_p C[a, p] w[p]``, with
``p`` a pair of symbols and ``Gamma`` the pair counts. This is linear attention with pairs in the place of symbols, so
the loss depends on the data through ``G[a] = (1/B) sum_n s_a vec(Gamma) vec(Gamma)^T`` alone.
"""

from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.integrate import solve_ivp
from torch import Tensor
from torch.nn.functional import one_hot

from attention_theory.hyper_attention.interactions import counts
from attention_theory.hyper_attention.linear_hyper_attention import pair_counts
from attention_theory.hyper_attention.sums import Sum, allowed_pairs
from attention_theory.validation import require

Array = TypeVar("Array", Tensor, np.ndarray)


@dataclass(frozen=True)
class HyperFlow:
    """A path of gradient flow, one entry a time; pairs of symbols are flattened."""

    times: Float[Tensor, "times"]
    score: Float[Tensor, "times size pairs"]
    value: Float[Tensor, "times pairs"]
    losses: Float[Tensor, "times"]


def hyper_gram(
    symbols: Int[Tensor, "samples tokens"], size: int, sum_over: Sum = "le"
) -> Float[Tensor, "size pairs pairs"]:
    """``G[a] = (1/B) sum_n s_a vec(Gamma) vec(Gamma)^T``."""
    rows = pair_counts(symbols, size, sum_over).flatten(-2)
    return torch.einsum("na,np,nq->apq", counts(symbols, size), rows, rows) / len(symbols)


def hyper_loss(
    gram: Float[Tensor, "size pairs pairs"],
    target: Float[Tensor, "size pairs"],
    score: Float[Tensor, "... size pairs"],
    value: Float[Tensor, "... pairs"],
) -> Float[Tensor, "..."]:
    """The training loss of Theorem G.7: squared errors summed over tokens, averaged over samples."""
    apart = score * value.unsqueeze(-2) - target
    return torch.einsum("...ap,apq,...aq->...", apart, gram, apart)


def hyper_gradients(gram: Array, target: Array, score: Array, value: Array) -> tuple[Array, Array]:
    """Gradients of :func:`hyper_loss` in C and w, shapes as there; the same lines serve tensors and arrays."""
    pulled = 2 * (gram @ (score * value - target)[..., None])[..., 0]
    return pulled * value, (pulled * score).sum(0)


def hyper_flow(
    gram: Float[Tensor, "size pairs pairs"],
    target: Float[Tensor, "size pairs"],
    value: Float[Tensor, "pairs"],
    end: float,
    records: int = 100,
    tolerance: float = 1e-11,
    score: Float[Tensor, "size pairs"] | None = None,
) -> HyperFlow:
    """Follow the negative gradient from ``C = 0`` (unless given) and ``w``, by Runge-Kutta of order eight.

    ``end`` is the last time and ``tolerance`` the relative error that a step may make (absolute: a hundredth of it).
    """
    require(end=(end, 0.0, None), records=(records, 2, None), tolerance=(tolerance, 1e-13, 1e-3))
    shape = target.shape

    entries = target.numel()
    gram_array, target_array = gram.numpy(), target.numpy()

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        score, value = state[:entries].reshape(shape), state[entries:]
        by_score, by_value = hyper_gradients(gram_array, target_array, score, value)
        return -np.concatenate([by_score.ravel(), by_value])

    begin = torch.zeros_like(target) if score is None else score
    times = np.linspace(0.0, end, records)
    start = torch.cat([begin.flatten(), value]).numpy()
    path = solve_ivp(velocity, (0.0, end), start, "DOP853", times, rtol=tolerance, atol=tolerance / 100)
    states = torch.from_numpy(path.y.T.copy())
    scores, values = states[:, :entries].unflatten(-1, shape), states[:, entries:]
    return HyperFlow(torch.from_numpy(times), scores, values, hyper_loss(gram, target, scores, values))


def hyper_versatility(
    symbols: Int[Tensor, "samples tokens"], size: int, sum_over: Sum = "le"
) -> tuple[Int[Tensor, "size"], Float[Tensor, "size"]]:
    """Rank and least singular value of ``Z``, for every symbol (Assumption G.10 asks for rank ``size ** 2``).

    The rows of the matrix ``Z`` of a symbol are ``vec(Gamma)`` of the sequences that hold it. With fewer rows than
    pairs the least singular value is 0.
    """
    rows = pair_counts(symbols, size, sum_over).flatten(-2)
    ranks, least = [], []
    for symbol in range(size):
        values = torch.linalg.svdvals(rows[(symbols == symbol).any(dim=1)])
        ranks.append(int((values > 1e-9 * values[0]).sum()) if len(values) else 0)
        least.append(values[-1].item() if len(values) == size**2 else 0.0)
    return torch.tensor(ranks), torch.tensor(least, dtype=torch.float64)


def residual_map(
    symbols: Int[Tensor, "samples tokens"], size: int, value: Float[Tensor, "pairs"], sum_over: Sum = "le"
) -> Float[Tensor, "rows parameters"]:
    """``M``: how the residual of every token moves with ``C``; row (n, i), column (a, p) is ``X_ia w_p Gamma_p``."""
    rows = pair_counts(symbols, size, sum_over).flatten(-2) * value
    hot = one_hot(symbols, size).to(rows.dtype)
    return torch.einsum("nia,np->niap", hot, rows).flatten(0, 1).flatten(1)


def four_fold_counts(
    symbols: Int[Tensor, "tokens"], size: int, form: Literal["correct", "printed"] = "correct", sum_over: Sum = "le"
) -> Float[Tensor, "size size size size"]:
    """The sum of Lemma G.8 written out: entry ``[v, g, s, t]`` is the sum over ``j <= k`` of ``X_jv X_jg X_ks X_kt``.

    ``form="printed"`` has ``X_jt`` for ``X_kt``, as the lemma does.
    """
    require(form=(form, {"correct", "printed"}))
    hot = one_hot(symbols, size).to(torch.float64)
    position = torch.arange(len(symbols))
    allowed = allowed_pairs(sum_over, position[:, None], position).to(torch.float64)
    last = "kt" if form == "correct" else "jt"
    return torch.einsum(f"jk,jv,jg,ks,{last}->vgst", allowed, *[hot] * 4)
