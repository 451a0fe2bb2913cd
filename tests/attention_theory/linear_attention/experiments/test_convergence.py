import math

import pytest
import torch

from attention_theory.linear_attention.experiments.convergence import DIVERGED, final_errors, first_below, pass_means


def test_pass_means_average_the_steps_of_each_pass() -> None:
    history = torch.arange(14.0).reshape(7, 2)
    assert torch.equal(pass_means(history, 3), torch.stack([history[:3].mean(0), history[3:6].mean(0)]))


def test_the_final_error_is_the_median_of_the_last_passes() -> None:
    curves = torch.tensor([9.0, 9.0, 9.0, 1.0, 500.0, 3.0]).expand(2, 6).mT
    assert final_errors(curves, last=3).tolist() == [3.0, 3.0]
    assert final_errors(curves, floor=4.0, last=3).tolist() == [4.0, 4.0]
    assert final_errors(torch.full((4, 1), math.nan), last=3).item() == pytest.approx(DIVERGED)


def test_the_first_pass_below_a_level_counts_and_never_is_infinite() -> None:
    curves = torch.tensor([[4.0, 4.0, 0.5], [1.0, 3.0, 2.0], [2.0, 3.0, 2.0]])
    assert first_below(curves, 1.0).tolist() == [2.0, math.inf, 1.0]


def test_a_curve_that_is_not_a_number_never_arrives() -> None:
    assert first_below(torch.tensor([[math.nan], [math.nan]]), 1.0).tolist() == [math.inf]
