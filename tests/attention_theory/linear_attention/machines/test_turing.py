import pytest
import torch

from attention_theory.linear_attention.machines.turing import (
    pad_table,
    parse_machine,
    random_inputs,
    random_tables,
    simulate,
    write_tape,
)

EVEN = """
even _ -> accept _ S   # an even number of ones
even 1 -> odd 1 R
odd 1 -> even 1 R
odd _ -> reject _ S
"""


def test_a_machine_is_read_from_its_rules() -> None:
    machine = parse_machine(EVEN)
    assert machine.states == ("even", "accept", "odd", "reject")
    assert machine.letters == "_1"
    assert machine.table[0].tolist() == [[1, 0, 2], [2, 1, 1]]
    assert machine.table[1].tolist() == [[1, 0, 2], [1, 1, 2]]


def test_a_run_by_hand() -> None:
    machine = parse_machine(EVEN)
    run = simulate(machine.table, write_tape(machine, "11", 4), 0, 4)
    assert run.letters.tolist() == [[1, 1, 0, 0]] * 5
    assert run.states.tolist() == [[0, 4, 4, 4], [4, 2, 4, 4], [4, 4, 0, 4], [4, 4, 1, 4], [4, 4, 1, 4]]


@pytest.mark.parametrize(
    ("word", "steps", "verdict"),
    [("", 1, "accept"), ("1", 2, "reject"), ("11", 3, "accept"), ("111", 4, "reject"), ("11", 2, "undecided")],
)
def test_words_are_decided(word: str, steps: int, verdict: str) -> None:
    assert parse_machine(EVEN).decide(word, 5, steps) == verdict


def test_a_head_that_leaves_the_window_is_lost() -> None:
    machine = parse_machine("go _ -> go _ L")
    run = simulate(machine.table, torch.zeros(3, dtype=torch.int64), 0, 2)
    assert run.states.tolist() == [[0, 3, 3], [3, 3, 3], [3, 3, 3]]
    assert machine.decide("", 3, 5) == "undecided"


def test_pairs_without_a_rule_reject() -> None:
    assert parse_machine("go 1 -> go 1 R").decide("11", 4, 9) == "undecided"
    assert parse_machine("go 0 -> go 0 R\ngo 1 -> go 1 R\nother 0 -> go 1 L").decide("10", 4, 9) == "undecided"
    assert parse_machine("go _ -> stop _ S").decide("", 2, 2) == "reject"


def test_a_padded_machine_is_the_same_machine() -> None:
    table = random_tables(1, 2, 2, seed=4)[0]
    tape, place = random_inputs(1, 2, 5, seed=4)
    small, large = (simulate(one, tape[0], int(place[0]), 6) for one in (table, pad_table(table, 4, 3)))
    assert torch.equal(small.letters, large.letters)
    assert torch.equal(small.states % 2, large.states % 2)
    assert pad_table(table, 4, 3)[3, 2].tolist() == [3, 2, 2]
