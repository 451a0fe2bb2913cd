"""Both ends of every bound of SUBLEQ: the value at an end is taken, one beyond is refused by its name."""

from collections.abc import Callable
from typing import Any

import pytest

from attention_theory.looped_transformers.subleq.assembler import assemble, library_text
from attention_theory.looped_transformers.subleq.conformance import conformance, conformance_of_layers, random_batches
from attention_theory.looped_transformers.subleq.exact_domain import (
    least_temperature,
    noise_bound,
    sufficient_temperature_of_reals,
    temperature_law,
)
from attention_theory.looped_transformers.subleq.language import (
    interpret,
    program,
    random_program,
    wild_program,
)
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.looped_transformers.subleq.minsky import Add, interpret_minsky, random_minsky, translate
from ends_of_ranges import hold_ends

MACHINE = SubleqMachine(3, 4, 4)
SHORT = random_program(1, 1, 4, 0)
RUN = {"machine": MACHINE, "programs": [SHORT], "steps": 1}
SEARCH = RUN | {"low": 20.0, "high": 20.0, "stride": 1.0, "resolution": 1.0}
DRAWN = {"cells": 2, "instructions": 2, "bits": 4, "seed": 0}
FORMS = (["correct", "printed"], ["right"])


def batches(**given: Any) -> list[Any]:
    least: dict[str, Any] = {"batches": 1, "size": 1, "seed": 0, "depth": 4, "bits": (4, 4), "columns": (8, 8)}
    return list(random_batches(**least | given))


#: What is called, with what, which argument is moved (and what it is called), to which ends, and beyond them.
CASES: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any], list[Any]]] = [
    (assemble, {"text": library_text("factorial")}, "bits", [16, 62], [1, 63]),
    (assemble, {"text": library_text("factorial")}, "scratch", [1], [0]),
    (library_text, {}, "name", ["factorial", "divide"], ["none"]),
    (conformance, RUN, "steps", [1], [0]),
    (conformance, RUN, "beyond", [0], [-1]),
    (conformance_of_layers, RUN, "steps", [1], [0]),
    (conformance_of_layers, RUN, "beyond", [0], [-1]),
    (batches, {}, "batches", [1], [0]),
    (batches, {}, "size", [1], [0]),
    (batches, {}, "bits", [(2, 2), (50, 50)], [(1, 2), (2, 51)]),
    (batches, {}, "columns", [(8, 8)], [(7, 8)]),
    (least_temperature, SEARCH, "low", [20.0], [-0.1, 20.1]),
    (least_temperature, SEARCH, "high", [20.0], [19.9]),
    (least_temperature, SEARCH, "stride", [1e-3], [0.0]),
    (least_temperature, SEARCH, "resolution", [1e-6], [0.0]),
    (temperature_law, {"bits": 4, "address_bits": 4}, "adders", [1, 2], [0, 3]),
    (temperature_law, {"address_bits": 4}, "bits", [1], [0]),
    (temperature_law, {"bits": 4}, "address_bits", [1], [0]),
    (noise_bound, {"address_bits": 4, "depth": 10, "temperature": 30.0}, "bits", [2], [1]),
    (noise_bound, {"bits": 4, "depth": 10, "temperature": 30.0}, "address_bits", [2], [1]),
    (noise_bound, {"bits": 4, "address_bits": 4, "temperature": 30.0}, "depth", [10, 6, 4], [5]),
    (noise_bound, {"bits": 4, "address_bits": 4, "depth": 10}, "temperature", [1e-6], [0.0]),
    (sufficient_temperature_of_reals, {"address_bits": 4}, "bits", [2], [1]),
    (sufficient_temperature_of_reals, {"bits": 4}, "address_bits", [2], [1]),
    (program, {"code": [(0, 0, 0)]}, "memory", [[-(2**62)], [2**62]], [[-(2**62) - 1], [2**62 + 1]]),
    (program, {"memory": [1]}, "code=a", [[(0, 0, 0)], [(2, 0, 0)]], [[(-1, 0, 0)], [(3, 0, 0)]]),
    (program, {"memory": [1]}, "code=b", [[(0, 0, 0)], [(0, 2, 0)]], [[(0, -1, 0)], [(0, 3, 0)]]),
    (program, {"memory": [1]}, "code=c", [[(0, 0, 0)], [(0, 0, 1)]], [[(0, 0, -1)], [(0, 0, 2)]]),
    (interpret, {"source": SHORT, "steps": 1}, "bits", [2, 62], [1, 63]),
    (interpret, {"source": SHORT, "bits": 4}, "steps", [1], [0]),
    (interpret, {"source": SHORT, "bits": 4, "steps": 1}, "form", *FORMS),
    *[(draw, DRAWN, name, [1], [0]) for draw in (random_program, wild_program) for name in ("cells", "instructions")],
    *[(draw, DRAWN, "bits", [2, 62], [1, 63]) for draw in (random_program, wild_program)],
    (SubleqMachine, {"bits": 2, "depth": 4}, "address_bits", [2, 20], [1, 21]),
    (SubleqMachine, {"address_bits": 2, "depth": 4}, "bits", [2, 50], [1, 51]),
    (SubleqMachine, {"address_bits": 2, "bits": 2}, "scratch", [1, 2], [0]),
    (SubleqMachine, {"address_bits": 2, "bits": 2}, "depth", [10, 6, 4], [3, 5, 11]),
    (SubleqMachine, {"address_bits": 2, "bits": 8, "real": True}, "depth", [4, 5, 6, 7, 8, 9, 10], [3, 11]),
    (SubleqMachine, {"address_bits": 2, "bits": 8, "real": True, "rounded": False}, "depth", [4], [3, 5]),
    (SubleqMachine, {"address_bits": 2, "depth": 4, "real": True}, "bits", [2, 12], [1, 13]),
    (
        MACHINE.load,
        {},
        "source=memory",
        [program([-8], [(0, 0, 0)]), program([7], [(0, 0, 0)])],
        [program([-9], [(0, 0, 0)]), program([8], [(0, 0, 0)])],
    ),
    (interpret_minsky, {"code": [Add(0)], "registers": [0]}, "steps", [0], [-1]),
    (interpret_minsky, {"code": [Add(0)], "steps": 1}, "registers", [[0]], [[-1]]),
    (translate, {"code": [Add(0)]}, "registers", [[0]], [[-1]]),
    (translate, {"registers": [0, 0]}, "code=register", [[Add(0)], [Add(1)]], [[Add(-1)], [Add(2)]]),
    (translate, {"code": [Add(0)], "registers": [0]}, "form", *FORMS),
    (random_minsky, {"instructions": 2, "seed": 0}, "registers", [1], [0]),
    (random_minsky, {"registers": 2, "seed": 0}, "instructions", [1], [0]),
]


@pytest.mark.parametrize(("call", "given", "argument", "taken", "refused"), CASES)
def test_the_ends_are_taken_and_what_is_beyond_is_refused_by_name(
    call: Callable[..., Any], given: dict[str, Any], argument: str, taken: list[Any], refused: list[Any]
) -> None:
    hold_ends(call, given, argument, taken, refused)
