"""Stochastic gradient descent for a linear model: plainly, and as a FLEQ program (Lemma 23, Algorithm 13)."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.forms import Forms, printed_places
from attention_theory.validation import require

#: What Algorithm 13 gets wrong in print: the counters start one too low; lines 3 and 4 multiply from the wrong side.
PLACES = ("counters", "lines 3-4")


def sgd(
    w: Float[Tensor, " d"], x: Float[Tensor, "points d"], y: Float[Tensor, " points"], rate: float, epochs: int
) -> Float[Tensor, "iterates d"]:
    """``w <- w - rate (w · x_i - y_i) x_i``, point after point, epoch after epoch: all iterates."""
    iterates = [w]
    for _ in range(epochs):
        for point, label in zip(x, y, strict=True):
            now = iterates[-1]
            iterates.append(now - rate * (now @ point - label) * point)
    return torch.stack(iterates)


def _data(w: Tensor, x: Tensor, y: Tensor, rate: float) -> dict[str, float | Tensor]:
    """The variables, the points first and the labels right behind them, each in d columns."""
    points: dict[str, float | Tensor] = {f"x{place}": point[:, None] for place, point in enumerate(x, start=1)}
    labels: dict[str, float | Tensor] = {f"y{place}": float(label) for place, label in enumerate(y, start=1)}
    return {**points, **labels, "w": w[:, None], "eta": rate, "temp": 0.0, "turned": 0.0}


def sgd_listing(size: int, form: Forms = "correct") -> str:
    """Algorithm 13 for points of ``size`` entries; ``form`` is of the places in :data:`PLACES`.

    Raises:
        ParameterError: a size below 1, or an unknown place.
    """
    require(size=(size, 1, None))
    printed = printed_places(form, PLACES)
    products = ["temp = mul(eta, temp)", "third:  turned = transpose(x1)", "temp = mul(turned, temp)"]
    if "lines 3-4" in printed:
        products = ["third:  temp = mul(x1, temp)", "temp = mul(temp, eta)"]
    lines = ["first:  temp = mul(x1, w)             # w · x_i", "second: temp = sub(temp, y1)", *products]
    lines += ["update: w = sub(w, temp)"]
    lines += [f"advance {label} by {size}" for label in ("first.a", "second.b", "third.a")]
    lines += ["j = add(j, one)", "if j <= 0 goto first", "j = add(from, zero)"]
    lines += ["rewind first.a to x1", "rewind second.b to y1", "rewind third.a to x1"]
    lines += ["k = add(k, one)", "if k <= 0 goto first", "halt"]
    return "\n".join(line if ":" in line else f"        {line}" for line in lines)


def sgd_program(
    w: Float[Tensor, " d"],
    x: Float[Tensor, "points d"],
    y: Float[Tensor, " points"],
    rate: float,
    epochs: int,
    form: Forms = "correct",
) -> FleqProgram:
    """Algorithm 13 with its pointers: 18 instructions, whatever the number of points. The weights are in ``w``.

    An update is complete when the label ``update`` has been executed. ``form`` is of the places in
    :data:`PLACES`.

    Raises:
        ParameterError: epochs below 1, or an unknown fault.
    """
    require(epochs=(epochs, 1, None))
    printed = printed_places(form, PLACES)
    points, size = x.shape
    start = 0.0 if "counters" in printed else 1.0
    text = sgd_listing(size, form)
    counters = {"j": start - points, "from": start - points, "k": start - epochs}
    return assemble(text, {**_data(w, x, y, rate), **counters}, size)


def unrolled_program(
    w: Float[Tensor, " d"], x: Float[Tensor, "points d"], y: Float[Tensor, " points"], rate: float, epochs: int
) -> FleqProgram:
    """The same with a copy of the update for each point in place of pointers: 6 instructions a point and 3.

    Raises:
        ParameterError: epochs below 1.
    """
    require(epochs=(epochs, 1, None))
    lines = ["epoch:"]
    for place in range(1, len(x) + 1):
        lines += [
            f"temp = mul(x{place}, w)",
            f"temp = sub(temp, y{place})",
            "temp = mul(eta, temp)",
            f"turned = transpose(x{place})",
            "temp = mul(turned, temp)",
            "w = sub(w, temp)",
        ]
    lines += ["k = add(k, one)", "if k <= 0 goto epoch", "halt"]
    return assemble("\n".join(lines), {**_data(w, x, y, rate), "k": 1.0 - epochs}, x.shape[1])
