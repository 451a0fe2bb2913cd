"""A Turing machine as a FLEQ program, under the interpreter of FLEQ."""

import pytest

from attention_theory.bridges.three_ways import random_jobs
from attention_theory.bridges.turing_to_fleq import fleq_bounds, fleq_of
from attention_theory.linear_attention.machines.turing import parse_machine, write_tape
from attention_theory.looped_transformers.fleq.language import interpret


@pytest.mark.parametrize(("states", "letters"), [(1, 1), (1, 2), (2, 2), (3, 4)])
def test_every_situation_is_the_machines_within_the_bounds(states: int, letters: int) -> None:
    for job in random_jobs(5, states, letters, 6, seed=states):
        made = fleq_of(job.machine, job.tape, job.head)
        instructions, a_step = fleq_bounds(states, letters)
        assert len(made.source.code) == instructions
        run = interpret(made.source, a_step * job.steps)
        assert made.situations(run)[: job.steps + 1] == job.expected


def test_a_machine_that_halts_reaches_the_halt_with_its_state() -> None:
    machine = parse_machine("go _ -> reject _ S\ngo a -> accept a S")
    made = fleq_of(machine, write_tape(machine, "a", 1), 0)
    run = interpret(made.source, 100)
    assert run.halted
    assert machine.states[made.situations(run)[-1].state] == "accept"
