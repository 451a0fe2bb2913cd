"""Both ends of every bound of FLEQ: the value at an end is taken, one beyond is refused by its name."""

from collections.abc import Callable
from typing import Any

import pytest

from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.blocks.transpose import TransposeBlock
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.conformance import (
    fleq_conformance,
    random_fleq_program,
    random_pointer_program,
)
from attention_theory.looped_transformers.fleq.frozen import FrozenFleq
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from ends_of_ranges import hold_ends

BLOCKS = [SumBlock("add"), TransposeBlock()]
LAYOUT = {"size": 3, "cells": 6, "instructions": 3, "blocks": BLOCKS, "temperature": 30.0}
HALT = assemble("halt", {}, 3)
MACHINE = FleqMachine(HALT)
SMALL = {"size": 3, "cells": 9, "instructions": 1, "functions": ["add"]}
DRAWN = {"functions": ["add"], "instructions": 3, "size": 3, "seed": 0}

#: What is called, with what, which argument is moved (and what it is called), to which ends, and beyond them.
CASES: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any], list[Any]]] = [
    (assemble, {"text": "halt", "variables": {}}, "size", [1], [0]),
    *[(draw, DRAWN, "functions", [["add"]], [[]]) for draw in (random_fleq_program, random_pointer_program)],
    *[(draw, DRAWN, "size", [2], [1]) for draw in (random_fleq_program, random_pointer_program)],
    (random_fleq_program, DRAWN, "instructions", [1], [0]),
    (random_pointer_program, DRAWN, "instructions", [2], [1]),
    (fleq_conformance, {"machine": MACHINE, "programs": [HALT]}, "steps", [1], [0]),
    (fleq_conformance, {"machine": MACHINE, "programs": [HALT], "steps": 1}, "limit", [1e-6], [0.0]),
    (interpret, {"program": HALT}, "max_steps", [1], [0]),
    (FleqLayout, LAYOUT | {"blocks": BLOCKS[:1]}, "size", [2], [1]),
    (FleqLayout, LAYOUT, "cells", [1], [0]),
    (FleqLayout, LAYOUT, "instructions", [1], [0]),
    (FleqLayout, LAYOUT, "temperature", [1e-6], [0.0]),
    (FleqLayout, LAYOUT, "heads", ["one", "several"], ["two"]),
    (FleqLayout, LAYOUT | {"pointers": True}, "pointer_rows", [1], [0]),
    (FleqMachine, {"program": HALT}, "gate", [0.0], [-0.1]),
    (MACHINE.run_many, {}, "programs", [[HALT]], [[]]),
    (FrozenFleq, SMALL | {"cells": 24}, "size", [3, 8], [2, 9]),
    (FrozenFleq, SMALL, "cells", [9, 1000], [8, 1001]),
    (FrozenFleq, SMALL, "instructions", [1, 1000], [0, 1001]),
    (FrozenFleq, SMALL, "temperature", [20.0, 100.0], [19.9, 100.1]),
    (FrozenFleq, SMALL, "functions", [["add"], ["add", "mul"]], [["none"]]),
    (FrozenFleq, SMALL, "functions=functions that are named", [["add", "mul"]], [["add", "mul", "mul"]]),
    (FrozenFleq, SMALL, "functions=times that add is named", [["add"]], [["mul"]]),
]


@pytest.mark.parametrize(("call", "given", "argument", "taken", "refused"), CASES)
def test_the_ends_are_taken_and_what_is_beyond_is_refused_by_name(
    call: Callable[..., Any], given: dict[str, Any], argument: str, taken: list[Any], refused: list[Any]
) -> None:
    hold_ends(call, given, argument, taken, refused)
