import torch

from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.turing import random_inputs, random_tables, simulate


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


def test_what_is_no_letter_reads_as_none() -> None:
    universal = CompactMachine(2, 2, 1, 1)
    token = torch.zeros(1, 1, universal.width)
    universal.rows.view(token, "letter")[...] = 1
    universal.rows.view(token, "state")[..., 0] = -1
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
