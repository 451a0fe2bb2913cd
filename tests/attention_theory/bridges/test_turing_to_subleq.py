"""A Turing machine as a SUBLEQ program, under the interpreter of SUBLEQ."""

import pytest

from attention_theory.bridges.three_ways import random_jobs
from attention_theory.bridges.turing_to_subleq import _ANSWERS, subleq_bounds, subleq_of
from attention_theory.linear_attention.machines.turing import parse_machine, write_tape
from attention_theory.looped_transformers.subleq.language import interpret


@pytest.mark.parametrize(("states", "letters"), [(1, 1), (1, 2), (2, 2), (3, 4)])
def test_every_situation_is_the_machines_within_the_bounds(states: int, letters: int) -> None:
    for job in random_jobs(5, states, letters, 6, seed=states):
        made = subleq_of(job.machine, job.tape, job.head)
        most, a_step = subleq_bounds(states, letters, len(job.tape))
        assert len(made.source.code) <= most
        run = interpret(made.source, 8, a_step * job.steps)
        told = zip([0, *run.counters.tolist()], [list(made.source.memory), *run.memories.tolist()], strict=True)
        found = [one for counter, memory in told if (one := made.read(counter, memory))]
        assert found[: job.steps + 1] == job.expected


def test_off_the_tape_the_program_ends() -> None:
    machine = parse_machine("go _ -> go _ R")
    made = subleq_of(machine, write_tape(machine, "", 2), 0)
    assert interpret(made.source, 8, 20).halted


def test_the_bounds_by_hand() -> None:
    assert subleq_bounds(1, 1, 1) == (2 + 5, 2)
    assert subleq_bounds(2, 3, 4) == (64 + 5, 4)


@pytest.mark.parametrize("answer", ["accept", "reject"])
def test_a_program_of_both_answers_ends_after_one(answer: str) -> None:
    """The two are written one after the other: what has answered must not run on into the next."""
    for first, second in (("accept", "reject"), ("reject", "accept")):
        machine = parse_machine(f"go a -> {first} a S\ngo b -> {second} b S\ngo _ -> {first} a S")
        word = "a" if answer == first else "b"
        made = subleq_of(machine, write_tape(machine, word, 1), 0)
        run = interpret(made.source, 8, 30)
        assert run.halted
        assert run.memories[-1, made.cells.stop] == _ANSWERS[answer]
