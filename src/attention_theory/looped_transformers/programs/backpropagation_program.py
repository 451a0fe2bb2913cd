"""Back-propagation as FLEQ programs: the paper's listing (Algorithms 15 and 16), and one for the machine (Lemma 9)."""

import re
from collections.abc import Collection

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers._forms import Forms, printed_places
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.machine.listing import beside
from attention_theory.looped_transformers.programs.backpropagation import SigmoidNetwork
from attention_theory.validation import refuse_unless, require

#: The places where the listing is wrong in print.
PLACES = (
    "lines 5-6",  # W2^T where W2 is wanted: mul transposes by itself
    "line 9",  # W2 where W2^T is wanted
    "lines 10-21",  # the loop's flag is computed once, before the loop
    "lines 22-23",  # the pointers of other instructions are reset
    "line 24",  # d2 a in place of a d2
    "lines 26-27",  # columns where rows are wanted, and the delta from before the loop
    "lines 28-35",  # G^T eta in place of G eta
    "counters",  # Algorithm 16: one point and one epoch too many
    "line 9 of 16",  # Algorithm 16: resets the third instruction, which holds no pointer to the data
)


def _listing(printed: Collection[str]) -> list[str]:
    """Algorithms 15 and 16, place by place; a place may take several lines. ``x0`` and ``y0`` begin points and labels.

    Where the paper counts in one line and jumps in the next, one instruction does both.
    """

    def line(place: str, as_printed: str, correct: str) -> str:
        return as_printed if place in printed else correct

    pointer = "line26.b" if "lines 26-27" in printed else "line26.a"
    return [
        "line1:  temp = transpose(w1)",
        "line2:  z = mul(temp, x0)",
        "line3:  z = add(z, b1)",
        "        a = sigmoid(z)",
        "        temp = transpose(w2)",
        line("lines 5-6", "o = mul(temp, a)", "o = mul(w2, a)"),
        "        o = add(o, b2)",
        "line8:  d2 = sub(o, y0) width 1",
        line("line 9", "d1 = mul(w2, d2)", "d1 = mul(temp, d2)"),
        line("lines 10-21", "flag = sub(k, m)", "k = add(zero, zero)"),
        "        zt = transpose(z)",
        "        dt = transpose(d1)",
        line("lines 10-21", "line13: if flag <= 0 goto line20", "line13: flag = sub(m, k) if flag <= 0 goto done"),
        "line14: s = rowsigmoid(zt) width 1",
        "body:   s1 = sub(one, s)",
        "        s1 = mul(s, s1)",
        "line17: dt = mul(s1, dt) width 1",
        "        advance line14.a",
        "        advance line17.bc",
        "line20: k = add(k, one) if zero <= 0 goto line13",
        line("lines 22-23", "done: rewind line1.a to zt\n rewind body.a to dt",
             "done: rewind line14.a to zt\n rewind line17.bc to dt"),
        line("line 24", "gw2 = mul(d2, a)", "temp = transpose(a)\n gw2 = mul(temp, d2)"),
        "        gb2 = mul(d2, one)",
        line("lines 26-27", "line26: gw1 = mul(d1, x0)\n gb1 = mul(d1, one)",
             "line26: xt = transpose(x0)\n gw1 = mul(dt, xt)\n gb1 = mul(dt, one)"),
        *_updates("lines 28-35" in printed),
        *(f"        advance {moved}" for moved in ("line2.b", "line8.b", pointer)),
        "        j = add(j, one) if j <= 0 goto line1",
        "        j = add(from, zero)",
        *(f"        rewind {moved}" for moved in ("line2.b to x0", "line8.b to y0", f"{pointer} to x0")),
        line("line 9 of 16", "rewind line3.a to x0", ""),
        "        e = add(e, one) if e <= 0 goto line1",
        "        halt",
    ]  # fmt: skip


def listing_beside() -> list[tuple[str, str]]:
    """The listing line by line, the paper's version and the repair, with a gap where the other has more lines."""
    return beside(_listing(PLACES), _listing(()))


def listing_program(
    network: SigmoidNetwork,
    x: Float[Tensor, "points d"],
    y: Float[Tensor, " points"],
    lr: float,
    epochs: int = 1,
    form: Forms = "correct",
    left_out: Collection[str] = (),
) -> FleqProgram:
    """Algorithms 15 and 16 in one, repaired line by line, with pointers: 46 instructions.

    Columns hold the vectors, as in the paper; points and labels lie in consecutive cells, one each; the loop of lines
    10 to 21 goes through the hidden units. A step is complete when the label ``line35`` has been executed. Fewer inputs
    are padded with zeros. Fewer hidden units would need the field d_h: the sigmoid of line 4 makes 1/2 of a zero.

    Args:
        network: at the start.
        x: the points.
        y: their labels.
        lr: the step size.
        epochs: passes over the points.
        form: of the places in :data:`PLACES`.
        left_out: instructions whose pointers are not set back, by label (for a control).

    Raises:
        ParameterError: epochs below 1, an unknown fault, or fewer hidden units than inputs.
    """
    require(epochs=(epochs, 1, None))
    printed = printed_places(form, PLACES)
    (points, inputs), size = x.shape, len(network.w2)
    refuse_unless(size >= inputs, f"network must have a hidden unit for each of {inputs} inputs, got {size}")
    text = "\n".join(_listing(printed))
    for label in left_out:
        text = re.sub(rf"rewind {label}\..*", "", text)
    start = 0.0 if "counters" in printed else 1.0
    identity = lr * torch.eye(size, dtype=x.dtype, device=x.device)
    variables: dict[str, float | Tensor] = {
        "x0": x.mT,
        "y0": y[None],
        "w1": network.w1,
        "b1": network.b1[:, None],
        "w2": network.w2[:, None],
        "b2": network.b2,
        "eta": lr if "lines 28-35" in printed else identity,
        **dict.fromkeys(("z", "a", "o", "d2", "d1", "zt", "dt", "s", "s1", "xt", "temp"), 0.0),
        **dict.fromkeys(("gw1", "gb1", "gw2", "gb2", "flag"), 0.0),
        "k": 1.0 if "lines 10-21" in printed else 0.0,
        "m": float(size),
        "j": start - points,
        "from": start - points,
        "e": start - epochs,
    }
    return assemble(text, variables, size, {"x0": points, "y0": points})


def _updates(as_printed: bool) -> list[str]:
    """Lines 28 to 35: every parameter less eta times its gradient. Printed, the product is (G^T) eta."""
    lines = []
    for parameter, slope in (("w2", "gw2"), ("w1", "gw1"), ("b2", "gb2"), ("b1", "gb1")):
        lines.append(f"temp = mul({slope}, eta)" if as_printed else f"temp = mul(eta, {slope})")
        lines.append(f"{parameter} = sub({parameter}, temp)")
    return [*lines[:-1], "line35: " + lines[-1]]


def machine_program(
    network: SigmoidNetwork, x: Float[Tensor, "points d"], y: Float[Tensor, " points"], lr: float, epochs: int = 1
) -> FleqProgram:
    """The step for the machine, copied for every point: vectors are rows, so that one head takes all the sigmoids.

    26 instructions a point for 4 hidden units and 2 to count the epochs. Cells have the size of the hidden units or the
    inputs, whichever are more. Fewer inputs are padded with zeros; fewer hidden units are the width of the sigmoids.

    Raises:
        ParameterError: epochs below 1.
    """
    require(epochs=(epochs, 1, None))
    hidden = len(network.w2)
    text = machine_listing(hidden, len(x))
    variables: dict[str, float | Tensor] = {
        **{f"x{place}": point[:, None] for place, point in enumerate(x, start=1)},
        **{f"y{place}": float(label) for place, label in enumerate(y, start=1)},
        "w1t": network.w1.mT,
        "b1": network.b1[None],
        "w2": network.w2[None],
        "b2": network.b2,
        "ones": x.new_ones(1, hidden),
        "eta": lr,
        "e": 1.0 - epochs,
        **dict.fromkeys(("z", "a", "at", "w2t", "o", "d2", "d1", "s", "u", "xt", "g"), 0.0),
    }
    return assemble(text, variables, max(hidden, x.shape[1]))


def machine_listing(hidden: int, points: int) -> str:
    """The program for the machine: a step for each point, then the epochs.

    Raises:
        ParameterError: hidden units or points below 1.
    """
    require(hidden=(hidden, 1, None), points=(points, 1, None))
    lines = ["epoch:"]
    for place in range(1, points + 1):
        lines += [f"z = mul(x{place}, w1t)", "z = add(z, b1)", f"a = rowsigmoid(z) width {hidden}", "at = transpose(a)"]
        lines += ["w2t = transpose(w2)", "o = mul(w2t, at)", "o = add(o, b2)", f"d2 = sub(o, y{place})"]
        lines += ["d2 = mul(eta, d2)", "d1 = mul(d2, w2)", "s = sub(ones, a)"]
        for unit in range(hidden):
            lines += [f"u = mul(a[{unit}], s[{unit}]) width 1", f"d1[{unit}] = mul(u, d1[{unit}]) width 1"]
        lines += [f"xt = transpose(x{place})", "g = mul(xt, d1)", "w1t = sub(w1t, g)", "b1 = sub(b1, d1)"]
        lines += ["g = mul(d2, a)", "w2 = sub(w2, g)", "b2 = sub(b2, d2)"]
    return "\n".join([*lines, "e = add(e, one)", "if e <= 0 goto epoch", "halt"])


def read_network(
    program: FleqProgram, memory: Float[Tensor, "cells d"], hidden: int | None = None, inputs: int | None = None
) -> SigmoidNetwork:
    """The network in the memory of either program; hidden units and inputs fill the cells unless fewer are given."""
    by_rows = "w1t" in program.addresses
    w1, b1, w2, b2 = (program.variable(memory, name) for name in ("w1t" if by_rows else "w1", "b1", "w2", "b2"))
    if by_rows:
        w1, b1, w2 = w1.mT, b1.mT, w2.mT
    return SigmoidNetwork(w1[:hidden, :inputs], b1[:hidden, 0], w2[:hidden, 0], b2[0, 0])
