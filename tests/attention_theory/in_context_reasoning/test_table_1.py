"""The runs behind the table, and the rule for a tick on made-up histories."""

import math

import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, gap_to_bayes
from attention_theory.in_context_reasoning.history import History
from attention_theory.in_context_reasoning.table_1 import Cells
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import train, train_grid
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun

NAME = "Origin-Linear-FA"
NOISELESS = {(0.0, 0.1): (1.39, 1.40), (0.0, 0.5): (0.01, 3.0)}


def history(ends: dict[tuple[float, float], tuple[float, float]]) -> History:
    """A history of two records from the final (population, unseen) losses of each (noise, rate)."""
    runs = [TrainingRun(VARIANTS[NAME], noise, rate) for noise, rate in ends]
    last = torch.tensor(list(ends.values()), dtype=torch.float64).T
    first = torch.full_like(last, 4.0)
    values = {key: torch.stack([first[i], last[i]]) for i, key in enumerate(("population", "unseen"))}
    return History(runs, [0, 1], values)


def test_the_better_rate_counts_and_every_level_must_pass() -> None:
    good = bayes_risk(0.2)
    both = history(
        {
            **NOISELESS,
            (0.2, 0.1): (good + 0.02, good),
            (0.2, 0.5): (good + 0.9, 7.0),
            (0.8, 0.1): (good + 0.02, good),
            (0.8, 0.5): (2.0, 9.0),
        }
    )
    assert Cells.measured(both, NAME, [0.2, 0.8], [0.1, 0.5], 0.1) == Cells(True, False, True, True)
    one = history({(0.0, 0.1): (1.39, 1.40), (0.2, 0.1): (good + 0.06, good), (0.8, 0.1): (good + 0.03, good)})
    assert Cells.measured(one, NAME, [0.2, 0.8], [0.1], 0.1) == Cells(False, True, False, False)


def test_near_is_a_share_of_the_gap() -> None:
    """0.05 above the Bayes risk is little at α = 0.2, where the gap is 1.1, and much at α = 0.8, where it is 0.28."""
    assert gap_to_bayes(0.0) == math.log(4)
    good = bayes_risk(0.2)
    ends = history({**NOISELESS, (0.2, 0.1): (good + 0.05, good), (0.8, 0.1): (good + 0.05, good)})
    assert Cells.measured(ends, NAME, [0.2], [0.1], 0.1).bayes_loss
    assert not Cells.measured(ends, NAME, [0.8], [0.1], 0.1).bayes_loss


def test_a_cell_is_split_where_seeds_disagree() -> None:
    first, second = Cells(True, False, True, True), Cells(True, False, False, True)
    assert Cells.agreed([first, second]) == (True, False, None, True)
    assert Cells.agreed([first]) == first.ticks


def test_the_grid_is_both_tasks_side_by_side() -> None:
    task = Task(20, 3, 4, 16, fillers="outputs allowed")
    grid = train_grid([NAME, "Reparam-ReLU-F"], task, [0.0, 0.5], [0.1, 0.5], 8, 16, [3], evaluation=32)[0]
    assert len(grid.runs) == 8
    for noisy, level in ((False, 0.0), (True, 0.5)):
        of_kind = Task(20, 3, 4, 16, noisy, "outputs allowed")
        run = [TrainingRun(VARIANTS[NAME], level, 0.5)]
        alone = train(run, of_kind, 8, 16, 3, arithmetic="subtraction", dtype=torch.float32, evaluation=32)
        same = grid.curve("population", NAME, level, 0.5)
        assert (alone.curve("population", NAME, level, 0.5) - same).abs().max() < 1e-4
