"""Stochastic gradient descent for a linear model: plainly, and as a FLEQ program (Lemma 23, Algorithm 13)."""

from collections.abc import Callable, Collection

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers._forms import Forms, printed_places
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.machine.listing import beside
from attention_theory.validation import require

Derivative = Callable[[Tensor], Tensor]

#: What Algorithm 13 gets wrong in print: the counters start one too low; lines 3 and 4 multiply from the wrong side.
_PLACES = ("counters", "lines 3-4")


def descent(
    w: Float[Tensor, " d"],
    x: Float[Tensor, "points d"],
    y: Float[Tensor, " points"],
    lr: float,
    epochs: int,
    derivative: Derivative = lambda r: r,
    together: bool = False,
) -> Float[Tensor, "iterates d"]:
    """``w <- w - rate f'(w · x_i - y_i) x_i``, point after point, or ``together`` with their sum: all iterates.

    Without a derivative the loss is half the square (Lemma 23).
    """
    iterates = [w]
    for _ in range(epochs):
        if together:
            iterates.append(iterates[-1] - lr * derivative(x @ iterates[-1] - y) @ x)
            continue
        for point, label in zip(x, y, strict=True):
            now = iterates[-1]
            iterates.append(now - lr * derivative(now @ point - label) * point)
    return torch.stack(iterates)


def _data(w: Tensor, x: Tensor, y: Tensor, lr: float) -> dict[str, float | Tensor]:
    """The variables, the points first and the labels right behind them, each in d columns."""
    points: dict[str, float | Tensor] = {f"x{place}": point[:, None] for place, point in enumerate(x, start=1)}
    labels: dict[str, float | Tensor] = {f"y{place}": float(label) for place, label in enumerate(y, start=1)}
    return {**points, **labels, "w": w[:, None], "eta": lr, "temp": 0.0, "turned": 0.0}


def _listing(printed: Collection[str]) -> list[str]:
    """Algorithm 13, place by place; a place may take several lines. ``x0`` and ``y0`` begin points and labels."""
    as_printed = "third: temp = mul(x0, temp) width 1\n temp = mul(temp, eta)"
    repaired = "temp = mul(eta, temp)\nthird: turned = transpose(x0)\n temp = mul(turned, temp)"
    return [
        "first: temp = mul(x0, w) width 1",
        "second: temp = sub(temp, y0) width 1",
        as_printed if "lines 3-4" in printed else repaired,
        "update: w = sub(w, temp)",
        *(f"advance {pointer}" for pointer in ("first.a", "second.b", "third.a")),
        "j = add(j, one)",
        "if j <= 0 goto first",
        "j = add(from, zero)",
        *(f"rewind {pointer}" for pointer in ("first.a to x0", "second.b to y0", "third.a to x0")),
        "k = add(k, one)",
        "if k <= 0 goto first",
        "halt",
    ]


def sgd_beside() -> list[tuple[str, str]]:
    """Algorithm 13 line by line, the paper's version and the repair; the counters begin where the memory says."""
    return beside(_listing(_PLACES), _listing(()))


def sgd_program(
    w: Float[Tensor, " d"],
    x: Float[Tensor, "points d"],
    y: Float[Tensor, " points"],
    lr: float,
    epochs: int,
    form: Forms = "correct",
    resets: bool = True,
) -> FleqProgram:
    """Algorithm 13 with its pointers: 18 instructions, whatever the number of points. The weights are in ``w``.

    Points and labels lie in consecutive cells, one each, as in the paper. An update is complete when the label
    ``update`` has been executed.

    Args:
        w: the weights at the start.
        x: the points.
        y: their labels.
        lr: the step size.
        epochs: passes over the points.
        form: of the places in :data:`_PLACES`.
        resets: ``False`` leaves out what sets the pointers back (for a control).

    Raises:
        ParameterError: epochs below 1, or an unknown fault.
    """
    require(epochs=(epochs, 1, None))
    printed = printed_places(form, _PLACES)
    points, size = x.shape
    start = 0.0 if "counters" in printed else 1.0
    lines = [line for line in _listing(printed) if resets or not line.startswith("rewind")]
    variables: dict[str, float | Tensor] = {"x0": x.mT, "y0": y[None], "w": w[:, None], "eta": lr}
    variables |= {"temp": 0.0, "turned": 0.0}
    counters = {"j": start - points, "from": start - points, "k": start - epochs}
    return assemble("\n".join(lines), {**variables, **counters}, size, {"x0": points, "y0": points})


def unrolled_program(
    w: Float[Tensor, " d"], x: Float[Tensor, "points d"], y: Float[Tensor, " points"], lr: float, epochs: int
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
    return assemble("\n".join(lines), {**_data(w, x, y, lr), "k": 1.0 - epochs}, x.shape[1])
