"""All sigmoids in one head (Lemma 12): for every x and every constant, and for any matrices without the zero column."""

import math

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, smt, symbolic
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.certificates.symbolic import Terms
from attention_theory.looped_transformers._forms import Forms
from attention_theory.looped_transformers.blocks.sigmoid_sums import OneHead
from attention_theory.looped_transformers.certified.heads import processed
from attention_theory.validation import refuse_unless, require

#: C of the head that is asked. Its keys hold it exactly, and the question has ``k = e^-C`` for any C.
_HEIGHT = 8


def certify_one_head(size: int) -> Certificate:
    """Lemma 12: column l holds ``sigmoid(a_l · x)``, up to ``(d-1) e^{a_l·x - C}``, for all x and C.

    The scores of column l are ``a_l · x`` and that less C, whatever x is; so one number ``E = e^{a_l·x}`` is asked.

    Args:
        size: d, the number of directions and of their entries.

    Raises:
        ParameterError: size below 2.
    """
    require(size=(size, 2, None))
    directions = (torch.arange(size * size, dtype=torch.float64).view(size, size) * 5 % 7 - 3) / 4

    def run(values: Counterexample) -> tuple[str, bool]:
        wanted = math.log(float(values["E"]))
        x = wanted * directions[0] / directions[0].square().sum()
        seen = _head(directions, {"empty column": "printed"}).sigmoids(x)[0].item()
        exact = x.new_tensor(wanted).sigmoid().item()
        return f"for a·x = {wanted:.4g} the head leaves {seen:g} and not {exact:.4g}", abs(seen - exact) > 1e-6

    return certify(
        "Column l holds sigmoid(u) for u = a_l · x, and at most (d - 1) exp(u - C) more, and the zero column stays "
        "empty. Without that column the scores of any matrices differ by numbers that stay as they are along a line.",
        f"d = {size}: all real x and all C from 0 on, for directions in quarters; without the zero column all real "
        "keys and queries",
        [*(_ask_column(_head(directions), column) for column in range(size + 1)), _ask_lines(size)],
        Control.of("no column of zeros", _ask_column(_head(directions, {"empty column": "printed"}), 0), run),
    )


def _head(directions: Tensor, form: Forms = "correct") -> OneHead:
    return OneHead(directions, height=_HEIGHT, inverse_temperature=1.0, form=form)


def _columns(machine: OneHead, x: Tensor) -> Tensor:
    """The input of Lemma 12 with this x, of terms or numbers."""
    state = Terms.of(machine.start(torch.zeros(x.shape, dtype=torch.float64), copies=True))
    state[: machine.terms, : len(x)] = x
    return state


def _ask_column(machine: OneHead, column: int) -> Answer:
    """A column after the layer, in ``E`` and ``k = e^-C``, as its scores and values have them."""
    layer, (row,) = machine.machine.dense[1], machine.rows["sigmoid"]
    (head,) = layer.heads
    refuse_unless(
        not head.value[torch.arange(len(head.value)) != row].any(), "head must write the row of sigmoids alone"
    )
    state = _columns(machine, symbolic.variables(x=machine.terms)["x"])
    scores = symbolic.entries((state @ head.query.mT) @ (state @ head.key.mT).mT)[column]
    values, before = symbolic.entries((state @ head.value.mT)[:, row]), symbolic.entries(state[column])
    own = scores[column] if column < machine.terms else 0 * scores[0]
    e, k, y = z3.Reals("E k y")
    powers = [_power(score, own, e, k) for score in scores]
    mean = y * z3.Sum(powers) == z3.Sum(
        [z3.RealVal(str(value)) * power for value, power in zip(values, powers, strict=True)]
    )
    whole = [
        z3.Real(f"x{at}") if at in machine.rows["x"] else z3.RealVal(str(entry)) for at, entry in enumerate(before)
    ]
    whole[row] = y
    after = processed(layer, dict(enumerate(whole)))
    rest = [after[place] == term for place, term in enumerate(whole) if place != row]
    excess = after[row] * (1 + e) - e  # times 1 + E
    right = z3.And(excess >= 0, excess <= (machine.terms - 1) * e * k * (1 + e))
    claim = right if column < machine.terms else after[row] == 0
    words = f"column {column}: E = exp(u), k = exp(-C), y is the mean of the values"
    return smt.prove([e > 0, k > 0, k <= 1, mean], z3.And(claim, *rest), words)


def _power(score: symbolic.Entry, own: symbolic.Entry, e: Term, k: Term) -> Term:
    """``exp`` of a score that is ``own``, that less C, or 0.

    Raises:
        ParameterError: another score.
    """
    if score == 0:
        return z3.RealVal(1)
    refuse_unless(score - own in (0, -_HEIGHT), f"scores must be u, u - C or 0, got {score}")
    return e if score == own else e * k


def _ask_lines(size: int) -> Answer:
    """Without the zero column: along x + t v a difference of scores changes by t times one product with v."""
    machine = _head(torch.eye(size, dtype=torch.float64), {"empty column": "printed"})
    rows = machine.rows.size
    given = symbolic.variables(key=(1, rows), query=(1, rows), x=size, v=size, t=())
    query, moves = given["query"].mT, given["key"].mT

    def differences(x: Tensor) -> Tensor:
        state = _columns(machine, x)
        return (state @ query) @ ((state - state[:1]) @ moves).mT

    steps = (_columns(machine, 0 * given["v"]) - _columns(machine, 0 * given["v"])[:1]) @ moves
    slope = steps * (given["query"][0, :size] * given["v"]).sum() * given["t"]
    changed = differences(given["x"] + given["t"] * given["v"]) - differences(given["x"])
    return symbolic.equal(changed, slope.mT + 0 * changed, "one coordinate of keys and queries; others are added")
