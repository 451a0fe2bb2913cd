"""The next value of a series with delays, by one attention layer (Appendix B.4).

The series obeys ``m[t] = sum_k a_k A m[t - k]`` over a set of delays. Token t holds the value m[t] and a one-hot for t;
the last token is the query for the next value, and the value that it holds does not matter.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.validation import FORMS, Each, Form, require

_Delays = Mapping[int, float]


def roll_out(
    start: Float[Tensor, "... times width"], transition: Float[Tensor, "width width"], delays: _Delays, steps: int
) -> Float[Tensor, "... total width"]:
    """Continue a series for ``steps`` steps (Appendix B.4).

    Raises:
        ParameterError: a delay below 1, or longer than the start; or a negative number of steps.
    """
    require(delays=(Each(delays), 1, start.shape[-2]), steps=(steps, 0, None))
    series = list(start.unbind(dim=-2))
    for _ in range(steps):
        past = sum(factor * series[-delay] for delay, factor in delays.items())
        series.append(torch.as_tensor(past) @ transition.mT)
    return torch.stack(series, dim=-2)


def series_tokens(
    series: Float[Tensor, "... times width"], query: Float[Tensor, "... width"]
) -> Float[Tensor, "... slots features"]:
    """The tokens of a series and of the query after it (App. B.4): value, then a one-hot over ``times + 1`` slots."""
    values = torch.cat([series, query.unsqueeze(-2)], dim=-2)
    slots = values.shape[-2]
    places = torch.eye(slots, dtype=series.dtype, device=series.device)
    return torch.cat([values, places.expand(*values.shape[:-1], slots)], dim=-1)


def delay_score(delays: _Delays, slots: int, width: int, form: Form = "correct") -> Float[Tensor, "features features"]:
    """The score matrix of Appendix B.4: slot u looks at slot u - k with strength ``a_k``; values play no part.

    ``form="printed"`` puts 1 in place of the factors, which the paper calls equivalent.

    Raises:
        ParameterError: a delay that does not fit into the slots, no value, or an unknown form.
    """
    require(delays=(Each(delays), 1, slots - 1), width=(width, 1, None), form=(form, FORMS))
    score = torch.zeros(slots, slots, dtype=torch.float64)
    for delay, factor in delays.items():
        score += torch.diag(torch.full((slots - delay,), factor if form == "correct" else 1.0).to(score), -delay)
    return torch.block_diag(torch.zeros(width, width, dtype=torch.float64), score)


def transition_value(
    transition: Float[Tensor, "width width"], slots: int, form: Form = "correct"
) -> Float[Tensor, "features width"]:
    """The value matrix ``[A^T; 0]`` of Appendix B.4: tokens are rows, so the transition is transposed.

    ``form="printed"`` is ``[A; 0]``.

    Raises:
        ParameterError: no slot or an unknown form.
    """
    require(slots=(slots, 1, None), form=(form, FORMS))
    matrix = transition.mT if form == "correct" else transition
    return torch.cat([matrix, matrix.new_zeros(slots, matrix.shape[1])])
