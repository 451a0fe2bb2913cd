import pytest
import torch

from attention_theory.linear_attention.experiments.growth import _bend_weights, bend, growth_line, simulated_bends

SIZES = [2, 3, 4, 5, 6]
PLACES = torch.tensor(SIZES, dtype=torch.float64)


@pytest.mark.parametrize("sizes", [SIZES, [1, 2, 4, 8], [3, 5, 6]])
def test_the_bend_is_the_change_of_slope_of_a_parabola(sizes: list[int]) -> None:
    places = torch.tensor(sizes, dtype=torch.float64)
    assert bend(sizes, 7 - 3 * places).item() == pytest.approx(0, abs=1e-12)
    assert bend(sizes, 0.25 * places**2 + places).item() == pytest.approx(0.5 * (sizes[-1] - sizes[0]))


def test_the_lines_find_their_own_growth() -> None:
    of_power = growth_line(SIZES, (1 + 2 * PLACES.log()).expand(3, 5), power=True)
    of_exponential = growth_line(SIZES, (1 + 0.4 * PLACES).expand(3, 5), power=False)
    assert of_power.slope == pytest.approx(2)
    assert of_exponential.slope == pytest.approx(0.4)
    torch.testing.assert_close(of_power.at_sizes, 1 + 2 * PLACES.log())
    torch.testing.assert_close(of_exponential.at_sizes, 1 + 0.4 * PLACES)
    assert of_power.miss == pytest.approx(0, abs=1e-12)
    assert growth_line(SIZES, (1 + 2 * PLACES.log()).expand(3, 5), power=False).miss > 0.05


def test_the_error_of_the_slope_is_that_of_many_experiments() -> None:
    source = torch.Generator().manual_seed(0)
    noise = 0.3 * torch.randn(2000, 3, 5, generator=source, dtype=torch.float64)
    lines = [growth_line(SIZES, PLACES.log() + one, power=True) for one in noise]
    assert lines[0].freedom == 13
    slopes, errors = torch.tensor([one.slope for one in lines]), torch.tensor([one.error for one in lines])
    assert slopes.std().item() == pytest.approx(errors.square().mean().sqrt().item(), rel=0.06)


def test_simulated_bends_have_the_truth_and_the_spread() -> None:
    drawn = simulated_bends(SIZES, 2 * PLACES.log(), 0.3, 4, 5000, 0)
    assert drawn.shape == (5000, 4)
    assert drawn.mean().item() == pytest.approx(bend(SIZES, 2 * PLACES.log()).item(), abs=0.02)
    assert drawn.std().item() == pytest.approx(0.3 * _bend_weights(SIZES).norm().item(), rel=0.03)
