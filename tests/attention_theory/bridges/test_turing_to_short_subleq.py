"""A Turing machine as a short SUBLEQ program, under the interpreter of SUBLEQ."""

from itertools import pairwise

import pytest

from attention_theory.bridges.situations import situations
from attention_theory.bridges.three_ways import Job, random_jobs
from attention_theory.bridges.turing_to_short_subleq import short_subleq_bounds, short_subleq_of
from attention_theory.linear_attention.machines.turing import parse_machine, write_tape
from attention_theory.looped_transformers.subleq.language import interpret


def run_of(job: Job, cycles: int) -> tuple[list[object], list[int], bool]:
    """The situations that a program goes through, the cycles between them, and whether it ends."""
    made = short_subleq_of(job.machine, job.tape, job.head)
    run = interpret(made.source, 10, cycles)
    told = zip([0, *run.counters.tolist()], [list(made.source.memory), *run.memories.tolist()], strict=True)
    met = [(cycle, one) for cycle, at in enumerate(told) if (one := made.read(*at))]
    return [one for _, one in met], [after[0] - before[0] for before, after in pairwise(met)], run.halted


@pytest.mark.parametrize(("states", "letters"), [(1, 1), (1, 2), (2, 2), (3, 4)])
def test_every_situation_is_the_machines_within_the_bounds(states: int, letters: int) -> None:
    for job in random_jobs(5, states, letters, 6, seed=states):
        length, a_step = short_subleq_bounds(states, letters, len(job.tape))
        assert len(short_subleq_of(job.machine, job.tape, job.head).source.code) == length
        found, gaps, _ = run_of(job, a_step * job.steps)
        assert found[: job.steps + 1] == job.expected
        assert max(gaps) <= a_step


def test_a_machine_that_halts_ends_the_program() -> None:
    machine = parse_machine("go 1 -> go 0 R\ngo 0 -> accept 1 S\ngo _ -> reject 1 L")
    for word in ("1101", "11_", "_"):
        tape = write_tape(machine, f"_{word}_", len(word) + 2)
        found, _, halted = run_of(Job(machine, tape, 1, 9), 300)
        assert found == situations(machine, tape, 1, 9)
        assert halted


@pytest.mark.parametrize(
    ("states", "letters", "cells", "bounds"), [(1, 1, 1, (15, 13)), (2, 2, 6, (58, 21)), (3, 5, 16, (174, 24))]
)
def test_the_bounds_by_hand(states: int, letters: int, cells: int, bounds: tuple[int, int]) -> None:
    """Two searches, through the cells and through the rules and the end, each of a binary logarithm of tests."""
    assert short_subleq_bounds(states, letters, cells) == bounds
