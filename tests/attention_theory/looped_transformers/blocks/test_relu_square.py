import pytest
import torch

from attention_theory.looped_transformers.blocks.relu_square import (
    ReluNetwork,
    deep_square,
    distance_to_square,
    fewest_layers,
    least_distance,
    pieces,
    wide_square,
    zigzag,
)
from attention_theory.randomness import generator, normal


@pytest.mark.parametrize("units", [1, 2, 3, 10, 354])
def test_one_wide_layer_comes_as_near_as_its_pieces_allow(units: int) -> None:
    network = wide_square(units)
    assert (network.depth, network.width) == (1, units)
    assert pieces(network, 2 * units) == units
    assert distance_to_square(network, 2 * units) == pytest.approx(1 / (8 * units**2), rel=1e-6)
    assert distance_to_square(network, 20_001) <= 1 / (8 * units**2) + 1e-15


@pytest.mark.parametrize("depth", [1, 2, 3, 8, 12])
def test_three_units_a_layer_halve_every_piece(depth: int) -> None:
    network = deep_square(depth)
    assert (network.depth, network.width) == (depth, 3)
    assert pieces(network, 2 ** (depth + 1)) == 2**depth
    assert distance_to_square(network, 2 ** (depth + 1)) == 1 / (8 * 4**depth)  # dyadic numbers: nothing is rounded
    assert distance_to_square(network, 20_001) <= 1 / (8 * 4**depth) + 1e-15


@pytest.mark.parametrize(("units", "depth"), [(2, 1), (2, 6), (3, 4), (5, 3)])
def test_a_zigzag_has_a_power_of_pieces(units: int, depth: int) -> None:
    line = zigzag(units, depth)
    assert (line.depth, line.width) == (depth, units)
    assert pieces(line, 2 * units**depth) == units**depth <= (units + 1) ** depth
    turns = torch.arange(units**depth + 1, dtype=torch.float64) / units**depth
    assert torch.allclose(line(turns), torch.arange(units**depth + 1).double() % 2, rtol=0, atol=1e-9)


def test_no_network_is_nearer_than_its_pieces_allow() -> None:
    draw = generator(3)
    x = torch.linspace(0, 1, 2001, dtype=torch.float64)
    for width, depth in ((1, 1), (2, 1), (2, 2), (3, 2)):
        for _ in range(10):
            first = normal(width, 1, seed=draw), normal(width, seed=draw)
            rest = tuple((normal(width, width, seed=draw), normal(width, seed=draw)) for _ in range(depth - 1))
            state = x[:, None]
            for weight, bias in (first, *rest):
                state = (state @ weight.mT + bias).relu()
            fit = torch.linalg.lstsq(torch.cat([state, torch.ones(len(x), 1).double()], 1), x[:, None] ** 2).solution
            fit = torch.nan_to_num(fit)
            network = ReluNetwork((first, *rest, (fit[:-1].mT, fit[-1])))
            assert distance_to_square(network, 2000) >= least_distance(width, depth)


def test_a_batch_keeps_its_shape() -> None:
    assert deep_square(2)(torch.zeros(4, 5, dtype=torch.float64)).shape == (4, 5)


@pytest.mark.parametrize("width", [1, 3, 10])
@pytest.mark.parametrize("error", [0.1, 1e-3, 1e-6, 1e-12])
def test_the_fewest_layers_are_the_first_that_could_do(width: int, error: float) -> None:
    layers = fewest_layers(width, error)
    assert least_distance(width, layers) <= error * (1 + 1e-9)
    assert layers == 1 or least_distance(width, layers - 1) > error
    assert fewest_layers(3, 1 / (8 * 4 ** (2 * 5))) == 5
    assert fewest_layers(1, 0.125) == 1
