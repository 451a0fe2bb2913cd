"""Gradient flow of a layer with one output: the path, what it conserves, and where it ends (Theorems 4.4 and G.7).

``features`` are symbols for linear attention and pairs of symbols for linear HyperAttention of order 3, as in
:mod:`attention_theory.hyper_attention.interactions.gram`.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.integrate import solve_ivp
from torch import Tensor

from attention_theory.hyper_attention.interactions.gram import gram_gradients
from attention_theory.validation import refuse_unless, require


@dataclass(frozen=True)
class _Flow:
    """A path of gradient flow in one-hot coordinates, one entry a time (Appendix C)."""

    times: Float[Tensor, " times"]
    score: Float[Tensor, "times size features"]
    value: Float[Tensor, "times features"]
    losses: Float[Tensor, " times"]


def gradient_flow(
    gram: Float[Tensor, "size features features"],
    target: Float[Tensor, "size features"],
    value: Float[Tensor, " features"],
    end: float,
    records: int = 200,
    tolerance: float = 1e-11,
    score: Float[Tensor, "size features"] | None = None,
    norm: float | Float[Tensor, "size size"] = 1.0,
) -> _Flow:
    """Follow ``dC/dt = -dL/dC``, ``dw/dt = -dL/dw`` of Theorems 4.4 and G.7, by Runge-Kutta of order eight.

    It starts from ``C = 0`` unless a score is given. ``end`` is the last time and ``tolerance`` the relative error that
    a step may make (absolute: a hundredth of it). ``norm`` is the squared length c of the rows of an orthogonal
    embedding, which multiplies the speeds by ``c^2`` and c; or the matrix of inner products of the codes of any
    embedding, which multiplies them on both sides. The integrator is one of NumPy, on the CPU and in float64.

    Raises:
        ParameterError: a negative time or norm, fewer than two records, or a tolerance outside 1e-13 to 1e-3.
    """
    require(end=(end, 0.0, None), records=(records, 2, None), tolerance=(tolerance, 1e-13, 1e-3))
    if not isinstance(norm, Tensor):
        require(norm=(norm, 0.0, None))
    inner = norm.numpy() if isinstance(norm, Tensor) else norm * np.eye(target.shape[1])

    entries = target.numel()
    gram_array, target_array = (tensor.cpu().to(torch.float64).numpy() for tensor in (gram, target))

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        score, value = state[:entries].reshape(target_array.shape), state[entries:]
        by_score, by_value = gram_gradients(gram_array, target_array, score, value)[:2]
        pulled = inner @ by_score if isinstance(norm, Tensor) else norm * by_score
        return -np.concatenate([(pulled @ inner).ravel(), inner @ by_value])

    begin = torch.zeros_like(target) if score is None else score
    times = np.linspace(0.0, end, records)
    start = torch.cat([begin.flatten(), value]).cpu().to(torch.float64).numpy()
    path = solve_ivp(velocity, (0.0, end), start, "DOP853", times, rtol=tolerance, atol=tolerance / 100)
    states = torch.from_numpy(path.y.T.copy()).to(target)
    scores, values = states[:, :entries].unflatten(-1, target.shape), states[:, entries:]
    return _Flow(torch.from_numpy(times).to(target), scores, values, gram_gradients(gram, target, scores, values)[2])


def conserved(
    score: Float[Tensor, "... size features"], value: Float[Tensor, "... features"], norm: float = 1.0
) -> Float[Tensor, "... features"]:
    """``w_a^2 - |C_{:,a}|^2 / c``, which the flow keeps (proof of Lemma C.2).

    ``norm`` is c, the squared length of the rows of an orthogonal embedding; C and w are in one-hot coordinates.
    """
    return value.square() - score.square().sum(dim=-2) / norm


def drift_of_a_step(
    path: _Flow,
    gram: Float[Tensor, "size features features"],
    target: Float[Tensor, "size features"],
    lr: float,
    score_factor: float = 1.0,
) -> float:
    """The largest change of :func:`conserved` by one step of descent from where the path has lost half of its loss.

    It is of second order in ``lr``: half the step, a quarter of the change. Only midway does that say anything of the
    gradients, because there the first orders of ``w^2`` and ``|C|^2`` have to cancel; from ``C = 0``, where
    ``dL/dw = 0``, no gradient in C could break it. ``score_factor`` multiplies the gradient in C, to see it break.
    (Lemmas C.2 and G.9.)

    Raises:
        ParameterError: a negative ``lr``.
    """
    require(lr=(lr, 0.0, None))
    score, value = midway(path)
    by_score, by_value, _ = gram_gradients(gram, target, score, value)
    after = conserved(score - lr * score_factor * by_score, value - lr * by_value)
    return (after - conserved(score, value)).abs().max().item()


def midway(path: _Flow) -> tuple[Float[Tensor, "size features"], Float[Tensor, " features"]]:
    """C and w where a path has lost half of its loss: neither start nor end of the flow of Appendix C."""
    place = int((path.losses - path.losses[0] / 2).abs().argmin())
    return path.score[place], path.value[place]


def flow_limit(
    target: Float[Tensor, "... size features"], value: Float[Tensor, "... features"], norm: float = 1.0
) -> tuple[Float[Tensor, "... size features"], Float[Tensor, "... features"]]:
    """The end of the flow of Theorems 4.4 and G.7 from ``C = 0`` and positive w, in closed form, on versatile data.

    The functional tensor must become ``target`` and :func:`conserved` stays, so ``w_a^2`` solves a quadratic:
    ``w_a(inf)^2 = (w_a^2 + sqrt(w_a^4 + 4 |T*_{:,a}|^2 / c)) / 2`` and ``C(inf) = T* diag(1 / w(inf))``.

    Raises:
        ParameterError: an entry of w is not positive; from 0 the flow need not move, and a sign stays as it is.
    """
    least = value.min().item()
    refuse_unless(least > 0, f"value must be positive in every entry, the least is {least}")
    squares = value.square()
    columns = target.square().sum(dim=-2)
    end = ((squares + (squares.square() + 4 * columns / norm).sqrt()) / 2).sqrt()
    return target / end.unsqueeze(-2), end


def loss_bound(
    start: float, least_value: float, least_singular: float, samples: int, times: Float[Tensor, " times"]
) -> Float[Tensor, " times"]:
    """``L(0) exp(-4 b^2 zeta^2 t / B)``: what the proof of Theorem 4.4 gives, by Gronwall's inequality.

    ``zeta`` is the least singular value over all data matrices, b the least entry of w at the start.

    Raises:
        ParameterError: a negative entry or singular value, or no sample.
    """
    require(
        least_value=(least_value, 0.0, None), least_singular=(least_singular, 0.0, None), samples=(samples, 1, None)
    )
    rate = 4 * least_value**2 * least_singular**2 / samples
    return start * torch.exp(-rate * times)
