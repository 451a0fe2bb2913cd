"""Sines and cosines as position codes, and functions of a difference as score matrices (Appendix B.1.2)."""

import math

import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor

from attention_theory.validation import FORMS, Form, ParameterError, require, require_finite, require_some


def dtfs(function: Float[Tensor, " period"], form: Form = "correct") -> Complex[Tensor, " period"]:
    """Coefficients ``F[k] = (1/N) sum_n f[n] exp(-2 pi i k n / N)``.

    ``form="printed"`` is Definition B.3 as it stands, without the ``1/N`` that Lemmas B.4 and B.5 and Theorem B.6 need.

    Raises:
        ParameterError: no value, or one that is not finite; an unknown form.
    """
    require(form=(form, FORMS))
    require_some(function=function)
    require_finite(function=function)
    return torch.fft.fft(function, norm="forward" if form == "correct" else "backward")


def synthesis(coefficients: Complex[Tensor, " period"]) -> Float[Tensor, " period"]:
    """The real function with these coefficients, ``f[n] = sum_k F[k] exp(2 pi i k n / N)`` (Lemma B.5).

    Raises:
        ParameterError: no coefficient.
    """
    require_some(coefficients=coefficients)
    return torch.fft.ifft(coefficients, norm="forward").real


def window_coefficients(period: int, radius: int, form: Form = "correct") -> Float[Tensor, " period"]:
    """The coefficients of the window ``|n| <= 2 R`` in closed form (Lemma B.4).

    They are right for ``4 R + 1 <= N``; the lemma does not require that, and ``form="printed"`` takes any radius.

    Raises:
        ParameterError: a window that meets itself on the loop, a period below 2, a negative radius or an unknown form.
    """
    require(period=(period, 2, None), form=(form, FORMS))
    require(radius=(radius, 0, (period - 1) // 4 if form == "correct" else None))
    angles = 2 * math.pi / period * torch.arange(1, period, dtype=torch.float64)
    rest = torch.sin(angles * (2 * radius + 0.5)) / torch.sin(angles / 2) / period
    return torch.cat([rest.new_tensor([(4 * radius + 1) / period]), rest])


def real_series(cosines: Float[Tensor, " period"], sines: Float[Tensor, " period"]) -> Float[Tensor, " period"]:
    """The real form of a series from ``a_k = 2 Re F[k]`` and ``b_k = -2 Im F[k]`` (Lemma B.5), odd and even periods."""
    period = len(cosines)
    places = torch.arange(period, device=cosines.device)
    orders = torch.arange(1, (period - 1) // 2 + 1, device=cosines.device)
    angles = _angles(places, orders, period).to(cosines.dtype)
    series = cosines[0] / 2 + angles.cos() @ cosines[orders] + angles.sin() @ sines[orders]
    if period % 2 == 0:
        series = series + cosines[period // 2] / 2 * (1 - 2 * (places % 2))
    return series


def position_code(period: int, form: Form = "correct") -> Float[Tensor, "period period"]:
    """Row n codes position n by a constant, sines and cosines (Eq. 16); ``P P^T = (N/2) I`` for even N.

    The order is the paper's: ``1/sqrt 2``, then sine and cosine of each frequency 1 to N/2 - 1, then the alternating
    ``cos(pi n) / sqrt 2``. ``form="printed"`` has a second ``1/sqrt 2``, on the cosine of frequency N/2 - 1.

    Raises:
        ParameterError: an odd or too short period, or an unknown form.
    """
    require(form=(form, FORMS))
    _require_even(period)
    places = torch.arange(period)
    angles = _angles(places, torch.arange(1, period // 2), period)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    if form == "printed":
        waves[:, -1] /= math.sqrt(2)
    alternating = (1.0 - 2 * (places % 2)).to(waves)
    ends = torch.stack([torch.ones_like(alternating), alternating], dim=1) / math.sqrt(2)
    return torch.cat([ends[:, :1], waves, ends[:, 1:]], dim=1)


def window_diagonal(period: int, radius: int, form: Form = "correct") -> Float[Tensor, " period"]:
    """The diagonal of the devised score matrix in the sinusoidal code (Section 7.1, Figure 1).

    Raises:
        ParameterError: an odd period, and as :func:`window_coefficients`.
    """
    _require_even(period)
    frequency = (torch.arange(period) + 1) // 2
    return 2 * window_coefficients(period, radius, form)[frequency]


def attention_matrix(coefficients: Complex[Tensor, " period"]) -> Float[Tensor, "period period"]:
    """The block-diagonal score matrix of Theorem B.6: ``p_i^T C p_j = f[(n_i - n_j) mod N]`` for any real f.

    Blocks ``[[a_k, b_k], [-b_k, a_k]]`` for the sine and cosine of frequency k, single entries for 0 and N/2 (Eq. 17).

    Raises:
        ParameterError: an odd or too short period.
    """
    period = len(coefficients)
    _require_even(period)
    cosines, sines = 2 * coefficients.real, -2 * coefficients.imag
    inner = torch.stack([torch.stack([cosines, sines], -1), torch.stack([-sines, cosines], -1)], -2)
    half = period // 2
    return torch.block_diag(cosines[:1, None], *inner[1:half], cosines[half : half + 1, None])


def _angles(
    places: Int[Tensor, " places"], orders: Int[Tensor, " orders"], period: int
) -> Float[Tensor, "places orders"]:
    """``2 pi k n / N``, with k n reduced to one period first, so that large angles lose no digits."""
    return 2 * math.pi / period * (places[:, None] * orders % period).to(torch.float64)


def _require_even(period: int) -> None:
    require(period=(period, 4, None))
    if period % 2:
        raise ParameterError(f"period must be even, got {period}")
