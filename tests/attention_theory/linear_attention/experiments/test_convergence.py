import itertools
import math

import pytest
import torch

from attention_theory.linear_attention.experiments.convergence import (
    _DIVERGED,
    best_settings,
    final_errors,
    first_below,
    rounding_floor,
)


def test_the_final_error_is_the_median_of_the_last_passes() -> None:
    curves = torch.tensor([9.0, 9.0, 9.0, 1.0, 500.0, 3.0]).expand(2, 6).mT
    assert final_errors(curves, last=3).tolist() == [3.0, 3.0]
    assert final_errors(curves, floor=4.0, last=3).tolist() == [4.0, 4.0]
    assert final_errors(torch.full((4, 1), math.nan), last=3).item() == pytest.approx(_DIVERGED)


def test_the_first_pass_below_a_level_counts_and_never_is_infinite() -> None:
    curves = torch.tensor([[4.0, 4.0, 0.5], [1.0, 3.0, 2.0], [2.0, 3.0, 2.0]])
    assert first_below(curves, 1.0).tolist() == [2.0, math.inf, 1.0]


def test_the_best_setting_is_that_of_least_geometric_mean_and_never_one_that_diverged() -> None:
    errors = torch.tensor([[[1e-2, 1e-6, 1e-9], [1.0, 2.0, torch.nan]], [[1e-2, 1e-6, 1e6], [1.0, 0.1, 1e-9]]])
    assert best_settings(errors, 1e-14).tolist() == [1, 1]


def test_settings_at_the_floor_are_equal_and_the_first_is_taken() -> None:
    for order in itertools.permutations([2e-13, 1e-13, 1e-14, 0.0]):
        errors = torch.tensor([1e-3, *order])
        assert best_settings(errors[None, None], 3e-13).item() == 1
    above = torch.tensor([[[4e-13, 3.9e-13, 5e-13]]])
    assert best_settings(above, 3e-13).item() == 1
    assert best_settings(above.expand(1, 2, 3), [3e-13, 1e-12]).tolist() == [1, 0]


@pytest.mark.parametrize("lost", [math.nan, math.inf, _DIVERGED])
def test_a_setting_that_diverged_once_is_not_taken_though_its_other_runs_are_at_the_floor(lost: float) -> None:
    errors = torch.tensor([[[lost, 1e-2]], [[0.0, 1e-2]], [[0.0, 1e-2]]])
    assert best_settings(errors, 1e-13).item() == 1
    assert best_settings(torch.full((2, 3, 4), lost), 1e-13).tolist() == [0, 0, 0]


@pytest.mark.parametrize("heads", [1, 4, 16, 64])
def test_the_floor_holds_what_rounding_makes_of_sums_of_products_of_random_signs(heads: int) -> None:
    draws = torch.Generator().manual_seed(heads)
    values, queries = torch.randn(2, 20000, heads, dtype=torch.float64, generator=draws)
    exact, rounded = (values * queries).sum(dim=1), torch.zeros(20000)
    for value, query in zip(values.float().mT, queries.float().mT, strict=True):
        rounded = rounded + value * query
    error = (rounded.double() - exact).square().mean() / exact.square().mean()
    assert 2.0**-50 < error < rounding_floor(heads)
    assert rounding_floor(heads) == pytest.approx((heads**0.5 * (heads + 2) * 2.0**-24) ** 2)
    assert rounding_floor(heads, torch.float64) == pytest.approx(rounding_floor(heads) * 2.0**-58)
