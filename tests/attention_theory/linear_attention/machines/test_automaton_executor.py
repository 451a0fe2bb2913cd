import itertools

import pytest
import torch
from torch import Tensor

from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor
from attention_theory.linear_attention.machines.block_heads import dense
from attention_theory.linear_attention.model.autoregression import autoregress
from attention_theory.linear_attention.model.mhla import mhla
from attention_theory.validation import ParameterError


def reference(table: Tensor, word: Tensor, start: int) -> list[int]:
    visited = [start]
    for letter in word.tolist():
        visited.append(int(table[visited[-1], letter]))
    return visited


def draws(states: int, letters: int, word: int, runs: int) -> tuple[Tensor, Tensor, Tensor]:
    source = torch.Generator().manual_seed(states + 10 * letters + 100 * word)
    return (
        torch.randint(states, (runs, states, letters), generator=source),
        torch.randint(letters, (runs, word), generator=source),
        torch.randint(states, (runs,), generator=source),
    )


@pytest.mark.parametrize(("states", "letters", "word"), [(1, 1, 1), (2, 3, 4), (4, 2, 9), (3, 4, 1), (5, 1, 3)])
def test_one_set_of_heads_runs_every_automaton(states: int, letters: int, word: int) -> None:
    task = AutomatonExecutor(states, letters, word)
    tables, words, starts = draws(states, letters, word, 40)
    visited = task.states_of(task.run(task.prompts(tables, words, starts)))
    for number in range(40):
        assert visited[number].tolist() == reference(tables[number], words[number], int(starts[number]))
    assert len(task.heads) == letters + 3
    assert task.width == 2 * (states + word) * (1 + letters) + 1


def test_all_automata_of_two_states_and_letters_on_all_words() -> None:
    task = AutomatonExecutor(2, 2, 3)
    every = [
        (table, word, start)
        for table in itertools.product(range(2), repeat=4)
        for word in itertools.product(range(2), repeat=3)
        for start in range(2)
    ]
    tables = torch.tensor([one[0] for one in every]).reshape(-1, 2, 2)
    words, starts = torch.tensor([one[1] for one in every]), torch.tensor([one[2] for one in every])
    histories = task.run(task.prompts(tables, words, starts))
    expected = [reference(*one) for one in zip(tables, words, starts.tolist(), strict=True)]
    assert task.states_of(histories).tolist() == expected
    assert set(histories.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(task.read(histories), histories)


def test_the_heads_are_linear_attention() -> None:
    task = AutomatonExecutor(2, 2, 2)
    prompts = task.prompts(*draws(2, 2, 2, 6))
    heads = dense(task.heads, task.width)
    assert torch.equal(autoregress(lambda tokens: mhla(heads, tokens), prompts, 4), task.run(prompts))


def test_what_is_outside_the_bounds_is_refused_by_name() -> None:
    task = AutomatonExecutor(2, 2, 3)
    tables, words, starts = draws(2, 2, 3, 5)
    for name, bad in {
        "tables": (torch.zeros(5, 3, 2, dtype=torch.int64), words, starts),
        "words": (tables, words[:, :2], starts),
        "each of tables": (tables + 1, words, starts),
        "each of words": (tables, words + 2, starts),
        "starts": (tables, words, starts - 2),
    }.items():
        with pytest.raises(ParameterError, match=name):
            task.prompts(*bad)
