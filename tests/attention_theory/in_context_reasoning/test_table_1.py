"""The rule for a tick, on made-up histories."""

import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk
from attention_theory.in_context_reasoning.table_1 import PRINTED, Cells, row
from attention_theory.in_context_reasoning.training import History
from attention_theory.in_context_reasoning.variants import TABLE_1, VARIANTS, Training

NAME = "Origin-Linear-FA"


def history(ends: dict[tuple[float, float], tuple[float, float]]) -> History:
    """A history of two records from the final (population, unseen) losses of each (noise, rate)."""
    runs = [Training(VARIANTS[NAME], noise, rate) for noise, rate in ends]
    last = torch.tensor(list(ends.values()), dtype=torch.float64).T
    first = torch.full_like(last, 4.0)
    values = {key: torch.stack([first[i], last[i]]) for i, key in enumerate(("population", "unseen"))}
    return History(runs, [0, 1], values)


def test_the_better_rate_counts_and_every_level_must_pass() -> None:
    noiseless = history({(0.0, 0.1): (1.39, 1.40), (0.0, 0.5): (0.01, 3.0)})
    good = bayes_risk(0.2)
    both = history(
        {
            (0.2, 0.1): (good + 0.02, good),
            (0.2, 0.5): (good + 0.9, 7.0),
            (0.8, 0.1): (good + 0.04, good),
            (0.8, 0.5): (2.0, 9.0),
        }
    )
    assert row(noiseless, both, NAME, [0.2, 0.8], [0.1, 0.5]) == Cells(True, False, True, True)
    one = history({(0.2, 0.1): (good + 0.06, good), (0.8, 0.1): (good, good)})
    assert row(noiseless, one, NAME, [0.2, 0.8], [0.1]) == Cells(False, True, False, False)


def test_the_printed_table_has_every_model() -> None:
    assert tuple(PRINTED) == TABLE_1
    assert sum(not cells.zero_loss for cells in PRINTED.values()) == 4  # Section 5.1 counts four
    assert sum(not cells.bayes_loss for cells in PRINTED.values()) == 6  # and six
