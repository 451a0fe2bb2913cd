import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.hyper_attention.interactions.fourier import (
    attention_matrix,
    dtfs,
    position_code,
    real_series,
    synthesis,
    window_coefficients,
    window_diagonal,
)
from attention_theory.hyper_attention.worlds.collisions import window_matrix
from attention_theory.randomness import normal


def test_dtfs_equals_its_sum() -> None:
    function = normal(6, seed=0)
    places = torch.arange(6, dtype=torch.float64)
    waves = torch.exp(-2j * math.pi / 6 * places[:, None] * places)
    torch.testing.assert_close(dtfs(function), (waves @ function.to(waves.dtype)) / 6)
    torch.testing.assert_close(dtfs(function, form="printed"), 6 * dtfs(function))


@settings(max_examples=40, deadline=None)
@given(values=st.lists(st.floats(-10, 10), min_size=4, max_size=21))
def test_series_and_matrix_return_the_function(values: list[float]) -> None:
    function = torch.tensor(values, dtype=torch.float64)
    coefficients = dtfs(function)
    torch.testing.assert_close(synthesis(coefficients), function)
    torch.testing.assert_close(real_series(2 * coefficients.real, -2 * coefficients.imag), function)
    period = len(values)
    if period % 2 == 0:
        code = position_code(period)
        places = torch.arange(period)
        expected = function[(places[:, None] - places) % period]
        torch.testing.assert_close(code @ attention_matrix(coefficients) @ code.mT, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("period", "radius"), [(20, 2), (20, 4), (36, 3), (360, 5)])
def test_the_devised_diagonal_gives_the_window(period: int, radius: int) -> None:
    code = position_code(period)
    torch.testing.assert_close(code @ code.mT, period / 2 * torch.eye(period, dtype=torch.float64))
    matrix = code @ window_diagonal(period, radius).diag() @ code.mT
    torch.testing.assert_close(matrix, window_matrix(period, radius), rtol=1e-10, atol=1e-11)
    window = window_matrix(period, radius)[0]
    torch.testing.assert_close(
        torch.complex(window_coefficients(period, radius), torch.zeros(period).double()), dtfs(window)
    )


def test_a_window_that_meets_itself_is_had_as_printed_only() -> None:
    """There the closed form counts some places twice."""
    coefficients = window_coefficients(6, 2, form="printed").to(torch.complex128)
    expected = torch.tensor([1, 1, 2, 2, 2, 1], dtype=torch.float64)
    torch.testing.assert_close(synthesis(coefficients), expected)
    torch.testing.assert_close(window_diagonal(6, 2, form="printed")[1:3], 2 * coefficients.real[1].expand(2))


@pytest.mark.parametrize("period", [4, 6, 20])
def test_the_printed_code_has_one_wave_too_short(period: int) -> None:
    """The cosine of frequency N/2 - 1, whose square is then summed to N/4 and not to N/2."""
    correct, printed = position_code(period), position_code(period, "printed")
    differing = [column for column in range(period) if not torch.equal(correct[:, column], printed[:, column])]
    assert differing == [period - 2]
    torch.testing.assert_close(math.sqrt(2) * printed[:, -2], correct[:, -2])
    assert printed[:, -2].square().sum().item() == pytest.approx(period / 4)
