"""Both ends of every bound of the machines: the value at an end is taken, one beyond is refused by its name."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from attention_theory.linear_attention.export import turing
from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor
from attention_theory.linear_attention.machines.block_heads import BlockHead, BlockLayer
from attention_theory.linear_attention.machines.compact import CompactMachine, compare_with_simulator
from attention_theory.linear_attention.machines.example_programs import random_table, random_walk_prompt
from attention_theory.linear_attention.machines.if_then import if_then_program
from attention_theory.linear_attention.machines.programs import LookupProgram, copy, run_program
from attention_theory.linear_attention.machines.recurrent_layer import RecurrentLayer
from attention_theory.linear_attention.machines.tape_program import Cell, new_tape, run_blocks
from attention_theory.linear_attention.machines.turing import pad_table, random_inputs, random_tables, simulate
from attention_theory.linear_attention.machines.universal_heads import UniversalHeads
from ends_of_ranges import hold_ends

ZERO = torch.tensor([0])
HEADS = [BlockHead(ZERO, ZERO, ZERO, ZERO)]
LAYER, RECURRENT = BlockLayer(HEADS, 1), RecurrentLayer(HEADS, 1)
EXECUTOR = AutomatonExecutor(2, 2, 2)
RUN = {
    "tables": torch.zeros(1, 2, 2, dtype=torch.int64),
    "words": torch.zeros(1, 2, dtype=torch.int64),
    "starts": torch.zeros(1, dtype=torch.int64),
}
PROMPT = torch.ones(1, 1, 1, dtype=torch.int64)
SIMULATED = {"table": torch.zeros(1, 2, 3, dtype=torch.int64), "tape": torch.zeros(3, dtype=torch.int64)}
IF_THEN = {"blocks": 2, "cases": 2, "letters": 2, "outcomes": 2}
COMPACT = CompactMachine(2, 2, 3, 4)
COMPARED: dict[str, Any] = {
    "universal": COMPACT,
    "tables": random_tables(1, 2, 2, 0),
    "words": torch.zeros(1, 3, dtype=torch.int64),
    "places": torch.tensor([0]),
}
EMBEDDED = COMPACT.embed(COMPARED["tables"], COMPARED["words"], COMPARED["places"])
COPIES = LookupProgram({"position": 3, "a": 2, "b": 2}, [copy(0, "a", "b", 3)])
UNIVERSAL = {"states": 2, "letters": 2, "window": 3, "steps": 2, "working_rows": "private", "form": "correct"}
BLOCKS = {"table": SIMULATED["table"], "tape": [Cell(0, 0)]}
EXPORTED = {"states": 1, "letters": 1, "word": 1, "steps": 1}


def configurations(steps: int) -> list[Any]:
    return list(COMPACT.configurations(EMBEDDED, steps))


def whole(value: int, *shape: int) -> torch.Tensor:
    return torch.full(shape, value)


#: What is called, with what, which argument is moved (and what it is called), to which ends, and beyond them.
CASES: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any], list[Any]]] = [
    *[
        (AutomatonExecutor, {"states": 2, "letters": 2, "word": 2}, name, [1], [0])
        for name in ("states", "letters", "word")
    ],
    (
        EXECUTOR.prompts,
        RUN,
        "tables=next_states",
        [whole(0, 1, 2, 2), whole(1, 1, 2, 2)],
        [whole(-1, 1, 2, 2), whole(2, 1, 2, 2)],
    ),
    (EXECUTOR.prompts, RUN, "tables=states", [whole(1, 1, 2, 2)], [whole(0, 1, 1, 2), whole(0, 1, 3, 2)]),
    (EXECUTOR.prompts, RUN, "tables=letters", [whole(1, 1, 2, 2)], [whole(0, 1, 2, 1), whole(0, 1, 2, 3)]),
    (
        EXECUTOR.prompts,
        RUN,
        "words=letters_of_words",
        [whole(0, 1, 2), whole(1, 1, 2)],
        [whole(-1, 1, 2), whole(2, 1, 2)],
    ),
    (EXECUTOR.prompts, RUN, "words=word", [whole(0, 1, 2)], [whole(0, 1, 1), whole(0, 1, 3)]),
    (EXECUTOR.prompts, RUN, "starts", [whole(0, 1), whole(1, 1)], [whole(-1, 1), whole(2, 1)]),
    (BlockLayer, {"heads": HEADS}, "width", [1], [0]),
    (BlockLayer, {"width": 1}, "heads", [HEADS], [[]]),
    (LAYER.run, {"prompt": PROMPT}, "steps", [0], [-1]),
    (LAYER.run, {"steps": 1}, "prompt=tokens", [whole(1, 1, 1, 1)], [whole(1, 1, 0, 1)]),
    (LAYER.run, {"steps": 1}, "prompt=width", [whole(1, 1, 1, 1)], [whole(1, 1, 1, 2)]),
    (RecurrentLayer, {"heads": HEADS}, "width", [1], [0]),
    (RecurrentLayer, {"width": 1}, "heads", [HEADS], [[]]),
    (RECURRENT.run, {"prompt": PROMPT}, "steps", [0], [-1]),
    (RECURRENT.run, {"steps": 1}, "prompt=tokens", [whole(1, 1, 1, 1)], [whole(1, 1, 0, 1)]),
    (RECURRENT.run, {"steps": 1}, "prompt=width", [whole(1, 1, 1, 1)], [whole(1, 1, 1, 2)]),
    *[(random_walk_prompt, {"nodes": 2, "marks": 2, "seed": 0}, name, [1], [0]) for name in ("nodes", "marks")],
    (random_table, {"seed": 0}, "sizes", [(1, 1, 1, 1)], [(0, 1, 1, 1), (1, 1, 1, 0)]),
    *[(if_then_program, IF_THEN, name, [1], [0]) for name in IF_THEN],
    (if_then_program, IF_THEN, "rows", ["private", "shared"], ["own"]),
    (if_then_program, IF_THEN, "form", ["correct", "printed"], ["right"]),
    (copy, {"value": "a", "destination": "b", "positions": 3}, "offset", [0, 2], [-1, 3]),
    (simulate, SIMULATED | {"head": 0}, "steps", [0], [-1]),
    (simulate, SIMULATED | {"steps": 1}, "head", [0, 2], [-1, 3]),
    *[
        (random_tables, {"machines": 2, "states": 2, "letters": 2, "seed": 0}, name, [1], [0])
        for name in ("machines", "states", "letters")
    ],
    *[
        (random_inputs, {"machines": 2, "letters": 2, "window": 2, "seed": 0}, name, [1], [0])
        for name in ("machines", "letters", "window")
    ],
    (pad_table, {"table": whole(0, 2, 4, 3), "letters": 4}, "states", [2], [1]),
    (pad_table, {"table": whole(0, 2, 4, 3), "states": 2}, "letters", [4], [3]),
    *[(UniversalHeads, UNIVERSAL, name, [1], [0]) for name in ("states", "letters", "window", "steps")],
    (UniversalHeads, UNIVERSAL, "working_rows", ["private", "shared"], ["own"]),
    (UniversalHeads, UNIVERSAL, "form", ["correct", "printed"], ["right"]),
    *[(turing, EXPORTED, name, [1], [0, most + 1]) for name, most in (("states", 100), ("letters", 100))],
    *[(turing, EXPORTED, name, [1, 1000], [0, 1001]) for name in ("word", "steps")],
    *[(turing, EXPORTED, name, [100], [101]) for name in ("states", "letters")],
    (COMPACT.tokens_until, {"cells": 1}, "step", [0, 4], [-1, 5]),
    (COMPACT.tokens_until, {"step": 1}, "cells", [1, 3], [0, 4]),
    (configurations, {}, "steps", [0, 4], [-1, 5]),
    (compare_with_simulator, COMPARED, "steps", [0, 4], [-1, 5]),
    (compare_with_simulator, COMPARED | {"steps": 1}, "at_once", [1], [0]),
    (compare_with_simulator, COMPARED | {"steps": 1}, "words=cells", [whole(0, 1, 3)], [whole(0, 1, 4)]),
    (run_blocks, BLOCKS, "steps", [0], [-1]),
    (run_blocks, BLOCKS | {"steps": 1}, "form", ["correct", "printed"], ["right"]),
    (new_tape, BLOCKS, "form", ["correct", "printed"], ["right"]),
    (run_program, {"program": COPIES, "prompt": [{"a": 1}]}, "steps", [0], [-1]),
    (turing, EXPORTED, "edge", ["lost", "stays"], ["gone"]),
]


@pytest.mark.parametrize(("call", "given", "argument", "taken", "refused"), CASES)
def test_the_ends_are_taken_and_what_is_beyond_is_refused_by_name(
    call: Callable[..., Any], given: dict[str, Any], argument: str, taken: list[Any], refused: list[Any]
) -> None:
    hold_ends(call, given, argument, taken, refused)
