"""Both ends of every bound of the machines' parts: the value at an end is taken, one beyond is refused by its name."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.branch import flag_of_bits
from attention_theory.looped_transformers.machine.codes import address_bits, from_bits, softmax_law, to_bits
from attention_theory.looped_transformers.machine.correction import correct
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.looped_transformers.machine.rounding import digits_of
from attention_theory.looped_transformers.machine.trace import trace
from attention_theory.looped_transformers.subleq.language import random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.rows import Rows
from ends_of_ranges import hold_ends

MACHINE = SubleqMachine(3, 4, 4)
STATE = MACHINE.load(random_program(1, 1, 4, 0))
CODE = torch.ones(2, dtype=torch.float64)
FORMS = (["correct", "printed"], ["right"])


def added(terms: int = 1, constant: int = 0) -> None:
    rows = Rows(a=4)
    add(Layer(rows, "add"), [(rows["a"], 1)] * terms, rows["a"], constant)


def corrected(margin: float) -> None:
    rows = Rows(a=4)
    correct(Layer(rows, "correct"), rows["a"], margin)


def flagged(form: Any) -> None:
    rows = Rows(a=4, flag=1, indicator=1)
    flag_of_bits(Layer(rows, "flag"), rows["a"], rows["flag"][0], rows["indicator"][0], form)


#: What is called, with what, which argument is moved (and what it is called), to which ends, and beyond them.
CASES: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any], list[Any]]] = [
    (to_bits, {"integers": 0}, "bits", [1, 62], [0, 63]),
    (to_bits, {"bits": 4}, "integers", [-(2**62), 2**62], [-(2**62) - 1, 2**62 + 1]),
    (from_bits, {}, "code=bits", [torch.ones(1), torch.ones(62)], [torch.ones(0), torch.ones(63)]),
    (from_bits, {"code": CODE}, "form", *FORMS),
    (address_bits, {}, "columns", [1], [0]),
    (softmax_law, {"temperature": 1.0}, "bits", [1], [0]),
    (softmax_law, {"bits": 1}, "temperature", [0.0], [-0.1]),
    (added, {}, "terms", [1, 2], [0, 3]),
    (added, {}, "constant", [0, 15], [-1, 16]),
    (added, {"terms": 2}, "constant", [0, 1], [-1, 2]),
    (corrected, {}, "margin", [1e-6, 0.499], [0.0, 0.5]),
    (flagged, {}, "form", *FORMS),
    (digits_of, {"bits": 3}, "stages", [1, 3], [0, 4]),
    (trace, {"machine": MACHINE, "state": STATE}, "cycles", [1], [0]),
    (
        MACHINE.run,
        {"state": STATE, "temperature": 30.0},
        "cycles",
        [0, 1],
        [-1],
    ),
]


@pytest.mark.parametrize(("call", "given", "argument", "taken", "refused"), CASES)
def test_the_ends_are_taken_and_what_is_beyond_is_refused_by_name(
    call: Callable[..., Any], given: dict[str, Any], argument: str, taken: list[Any], refused: list[Any]
) -> None:
    hold_ends(call, given, argument, taken, refused)
