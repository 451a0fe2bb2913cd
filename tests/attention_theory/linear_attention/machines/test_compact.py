import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.turing import (
    pad_table,
    parse_machine,
    random_inputs,
    random_tables,
    simulate,
)

#: Machines that halt, stay, and run along both edges: rules, and the cell they start in.
SPECIAL = {
    "halts": ("go _ -> accept 1 S", 0),
    "stays": ("go _ -> go 1 S\ngo 1 -> go _ S", 2),
    "right": ("go _ -> go 1 R\ngo 1 -> go 1 R", 2),
    "left": ("go _ -> back 1 R\ngo 1 -> back _ R\nback _ -> go 1 L\nback 1 -> go _ L", 0),
    "lost": ("go _ -> go 1 L\ngo 1 -> go _ L", 0),
}


def interpret(table: Tensor, word: list[int], head: int, steps: int) -> list[list[tuple[int, int | None]]]:
    """A plain interpreter: the cells, letter and state, after each step, on a tape that gets a blank a step."""
    tape, state, runs = dict(enumerate(word)), 0, []
    for step in range(steps + 1):
        runs.append([(tape.get(cell, 0), state if cell == head else None) for cell in range(len(word) + step)])
        if head >= 0:
            following, letter, move = table[state, tape.get(head, 0)].tolist()
            tape[head], state, head = letter, following, head + (-1, 1, 0)[move]
    return runs


def test_one_more_entry_lets_a_head_stay_at_the_left_end() -> None:
    tables, inputs = random_tables(60, 3, 2, 4), random_inputs(60, 2, 3, 5)
    lost, stays = (CompactMachine(3, 2, 3, 6, stays=stays) for stays in (False, True))
    assert (lost.width, len(lost.heads)) == (stays.width, len(stays.heads))
    assert sum(len(head.value) for head in stays.heads) == 1 + sum(len(head.value) for head in lost.heads)
    runs = stays.compare(tables, *inputs, 6)
    assert runs.machines == 60
    assert bool(runs.kept.all())
    assert lost.compare(tables, *inputs, 6).machines == 60
    assert lost.compare(tables, *inputs, 6, stays=True).machines < 60


def written(universal: CompactMachine, history: Tensor, cells: int, step: int) -> list[list[tuple[int, int | None]]]:
    """What the last tokens of a step say, read by hand from the rows: one row a machine."""
    end = universal.states + 1 + cells + universal.tokens_until(step, cells)
    last = history[:, end - cells - step : end]
    letters, states = (universal.rows.of(last, name).tolist() for name in ("letter", "state"))
    assert all(sorted(letter)[-2:] in ([0, 1], [1]) and min(letter) >= 0 for one in letters for letter in one)
    return [
        [(letter.index(1), state.index(1) if any(state) else None) for letter, state in zip(*one, strict=True)]
        for one in zip(letters, states, strict=True)
    ]


@settings(max_examples=40, deadline=None)
@given(
    states=st.integers(1, 5),
    letters=st.integers(1, 4),
    word=st.integers(1, 5),
    room=st.integers(0, 2),
    steps=st.integers(1, 8),
    seed=st.integers(0, 999),
)
def test_every_machine_runs_exactly(states: int, letters: int, word: int, room: int, steps: int, seed: int) -> None:
    """Also words that are shorter than the bound, against an interpreter of the test's own."""
    universal = CompactMachine(states, letters, word + room, steps)
    tables, (words, places) = random_tables(4, states, letters, seed), random_inputs(4, letters, word, seed)
    history = universal.run(universal.embed(tables, words, places), steps)
    runs = [interpret(*one, steps) for one in zip(tables, words.tolist(), places.tolist(), strict=True)]
    for step in range(steps + 1):
        assert written(universal, history, word, step) == [run[step] for run in runs]
    assert set(history.unique().tolist()) <= {-1, 0, 1}


@pytest.mark.parametrize("name", SPECIAL)
def test_machines_that_halt_stay_and_run_along_the_edges(name: str) -> None:
    rules, place = SPECIAL[name]
    table = pad_table(parse_machine(rules).table, 4, 2)
    universal = CompactMachine(4, 2, 3, 9)
    history = universal.run(universal.embed(table[None], torch.tensor([[0, 1, 0]]), torch.tensor([place])), 9)
    run = interpret(table, [0, 1, 0], place, 9)
    assert [written(universal, history, 3, step)[0] for step in range(10)] == run


def test_a_machine_may_start_in_any_state() -> None:
    tables, (words, places) = random_tables(40, 3, 2, 6), random_inputs(40, 2, 3, 7)
    starts = torch.arange(40) % 3
    universal = CompactMachine(3, 2, 3, 4)
    read = list(universal.configurations(universal.embed(tables, words, places, starts=starts), 4))
    tapes = torch.nn.functional.pad(words, (0, 4))
    for number in range(40):
        due = simulate(tables[number], tapes[number], int(places[number]), 4, start=int(starts[number]))
        for step, one in enumerate(read):
            assert torch.equal(one.states[number], due.states[step, : 3 + step])
            assert torch.equal(one.letters[number], due.letters[step, : 3 + step])


def test_configurations_are_read_as_they_come() -> None:
    universal = CompactMachine(3, 2, 4, 6)
    prompt = universal.embed(random_tables(5, 3, 2, 1), *random_inputs(5, 2, 4, 1))
    history = universal.run(prompt, 6)
    for step, read in enumerate(universal.configurations(prompt, 6)):
        end = prompt.shape[1] + universal.tokens_until(step, 4)
        again = universal.read(history[:, end - 4 - step : end])
        assert torch.equal(read.letters, again.letters)
        assert torch.equal(read.states, again.states)


def test_what_is_no_letter_reads_as_none() -> None:
    universal = CompactMachine(2, 2, 1, 1)
    token = torch.zeros(1, 1, universal.width)
    universal.rows.of(token, "letter")[...] = 1
    universal.rows.of(token, "state")[..., 0] = -1
    assert (universal.read(token).letters.item(), universal.read(token).states.item()) == (-1, -1)


def test_sizes_are_the_formulas() -> None:
    for size in ((1, 1, 1, 1), (2, 3, 4, 5), (5, 2, 1, 7)):
        universal = CompactMachine(*size)
        formulas = universal.width_formula(*size), universal.heads_formula(*size[1:])
        assert (universal.width, len(universal.heads)) == formulas
    assert (CompactMachine.width_formula(1, 1, 1, 1), CompactMachine.heads_formula(1, 1, 1)) == (34, 17)
    assert [CompactMachine(1, 1, 3, 3).tokens_until(step, 3) for step in range(4)] == [0, 10, 21, 33]


def test_what_was_written_must_be_taken_back() -> None:
    universal = CompactMachine(3, 3, 4, 6, take_back=False)
    left_in = universal.compare(random_tables(50, 3, 3, 0), *random_inputs(50, 3, 4, 1), 6, torch.float64)
    assert left_in.exact[:, 0].all()
    assert left_in.machines < 25
