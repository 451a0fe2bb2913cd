import pytest
import torch
from torch import Tensor

from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor


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
    histories = task.run(task.prompts(tables, words, starts))
    visited = task.states_of(histories)
    assert set(histories.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(task.read(histories), histories)
    for number in range(40):
        assert visited[number].tolist() == reference(tables[number], words[number], int(starts[number]))
    assert len(task.heads) == letters + 3
    assert task.width == 2 * (states + word) * (1 + letters) + 1
