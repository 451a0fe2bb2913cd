"""Ends of made-up histories."""

import math

import pytest
import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk
from attention_theory.in_context_reasoning.experiments.ends_of_runs import left_of_the_way, spread, steps_to
from attention_theory.in_context_reasoning.training import History
from attention_theory.in_context_reasoning.variants import VARIANTS, Training
from attention_theory.validation import ParameterError

NAME = "Origin-Linear-FA"


def history(losses: list[float], noise: float) -> History:
    column = torch.tensor(losses, dtype=torch.float64)[:, None]
    run = [Training(VARIANTS[NAME], noise, 0.1)]
    return History(run, [10 * index for index in range(len(losses))], {"population": column})


def test_the_way_from_the_plateau_to_the_target() -> None:
    plateau = bayes_risk(0.2) + 0.8 * math.log(4)
    assert left_of_the_way(history([4.0, plateau], 0.2), NAME, 0.2, 0.1) == pytest.approx(1)
    assert left_of_the_way(history([4.0, bayes_risk(0.2)], 0.2), NAME, 0.2, 0.1) == pytest.approx(0)


def test_spread() -> None:
    assert spread([0.3, 0.1, 0.2]) == pytest.approx(0.2)
    with pytest.raises(ParameterError, match="values"):
        spread([])


def test_steps_to_a_loss() -> None:
    falling = history([4.0, 2.0, 1.0, 0.5, 1.5], 0.0)
    assert steps_to(falling, NAME, 0.0, 0.1, 1.0) == 20
    assert steps_to(falling, NAME, 0.0, 0.1, 0.1) == 41
