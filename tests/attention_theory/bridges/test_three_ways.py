"""One machine on three transformers: every situation right, and wrong where a transformer is spoilt."""

import time

import pytest
import torch

from attention_theory.bridges.situations import situations
from attention_theory.bridges.three_ways import Job, all_ways, by_fleq, by_linear_attention, by_subleq, random_jobs
from attention_theory.linear_attention.machines.turing import parse_machine
from attention_theory.validation import ParameterError


def job() -> Job:
    """Adds one to a binary number, the lowest digit last: 01 becomes 10."""
    machine = parse_machine("add 0 -> accept 1 S\nadd 1 -> add 0 L\nadd b -> accept 1 S")
    return Job(machine, torch.tensor([0, 1]), 1, 4)


def test_situations_end_with_the_first_halting_one() -> None:
    assert [one.tape for one in job().expected] == [(0, 1), (0, 0), (1, 0)]
    assert [one.head for one in job().expected] == [1, 0, None]
    with pytest.raises(ParameterError, match="leaves the tape"):
        situations(parse_machine("go _ -> go _ L"), torch.tensor([0]), 0, 1)


def test_all_three_are_right_on_machines_that_halt_and_on_random_ones() -> None:
    jobs = [job(), *random_jobs(1, 2, 2, 2, seed=0)]
    begun = time.process_time()
    ways = all_ways(jobs)
    spent = time.process_time() - begun
    assert 0 < sum(way.seconds for ways_of_job in ways for way in ways_of_job) < spent
    assert all(way.right for ways_of_job in ways for way in ways_of_job)
    assert [way.layers for way in ways[0]] == [1, 10, 11]
    assert [way.name for way in ways[1]] == ["linear attention", "SUBLEQ", "FLEQ"]


def test_spoilt_transformers_are_seen_to_be_wrong() -> None:
    assert not by_linear_attention([job()], take_back=False)[0].right
    assert not by_subleq([job()], inverse_temperature=1.0)[0].right
    assert not by_fleq([job()], inverse_temperature=2.0)[0].right


def test_random_jobs_start_in_the_middle_of_a_tape_that_is_long_enough() -> None:
    (job,) = random_jobs(1, 1, 1, 1, seed=0)
    assert (len(job.tape), job.head, job.steps) == (3, 1, 1)
    for job in random_jobs(3, 2, 3, 4, seed=0):
        assert (len(job.tape), job.head, job.steps) == (9, 4, 4)
        assert (job.machine.states, job.machine.letters) == (("q0", "q1"), "_ab")
        assert len(job.expected) == 5
