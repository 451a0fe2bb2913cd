import random

import pytest
import torch

from attention_theory.looped_transformers.certified.subleq_cycle import (
    ask_cycle,
    certify_cycle,
    run_cycle,
    scene,
    state_of,
)
from attention_theory.looped_transformers.machine.codes import position_codes
from attention_theory.looped_transformers.subleq.language import interpret, program
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine


@pytest.mark.exhaustive
@pytest.mark.parametrize("depth", [4, 6, 10])
def test_a_cycle_is_right_with_integers_of_sixteen_bits(depth: Depth) -> None:
    assert certify_cycle(SubleqMachine(5, 16, depth)).settled


@pytest.mark.parametrize("places", ["write", "flag"])
def test_the_construction_as_the_paper_states_it_is_refuted(places: str) -> None:
    assert ask_cycle(SubleqMachine(3, 3, form={places: "printed"}), same=False).outcome != "proved"


def test_the_columns_are_those_of_a_loaded_program() -> None:
    """Program and memory as words; after a cycle the columns are those of the interpreter's step."""
    machine, draws = SubleqMachine(3, 4, 4), random.Random(0)
    now = scene(machine, same=False)
    for _ in range(2):
        memory = [draws.randrange(-8, 8) for _ in range(2)]
        source = program(memory, [(2, 3, 0), (3, 0, 1)])
        place = {"pc": 5, "a": 3, "b": 4, "c": 5, "cell": 2, "instruction": 6, "x": 4, "y": 1, "z": 6}
        values = place | {"mem[a]": memory[0] % 16, "mem[b]": memory[1] % 16, "mem[cell]": 15, "left": 0, "over": 0}
        words = now.words.at(values)
        loaded = machine.load(source)
        columns = [0, 5, 3, 4, 2, 6]
        assert torch.equal(state_of(machine, now.before, words), loaded[columns])
        run = interpret(source, 4, 1)
        after = state_of(machine, now.after, words)
        assert machine.memory(machine.cycle(loaded, 1.0, "hardmax"), source).tolist() == run.memories[0].tolist()
        assert torch.equal(machine.cycle(loaded, 1.0, "hardmax")[columns], after)
        assert torch.equal(machine.rows.view(after, "counter")[0], position_codes(8, 3)[5 + int(run.counters[0])])


def test_the_code_is_right_where_the_assumptions_hold() -> None:
    observed, wrong = run_cycle(SubleqMachine(3, 2, 4), {"mem[a]": 3, "mem[b]": 2})
    assert not wrong, observed
