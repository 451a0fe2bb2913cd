import pytest
import torch

from attention_theory.looped_transformers.blocks.relu_square import ReluNetwork, least_distance, looped_product
from attention_theory.randomness import generator, normal


@pytest.mark.parametrize("units", [1, 2, 3, 10, 354])
def test_one_wide_layer_comes_as_near_as_its_pieces_allow(units: int) -> None:
    network = ReluNetwork.wide_square(units)
    assert (network.depth, network.width) == (1, units)
    assert network.pieces(2 * units) == units
    assert network.distance_to_square(2 * units) == pytest.approx(1 / (8 * units**2), rel=1e-6)
    assert network.distance_to_square(20_001) <= 1 / (8 * units**2) + 1e-15


@pytest.mark.parametrize("depth", [1, 2, 3, 8, 12])
def test_three_units_a_layer_halve_every_piece(depth: int) -> None:
    network = ReluNetwork.deep_square(depth)
    assert (network.depth, network.width) == (depth, 3)
    assert network.pieces(2 ** (depth + 1)) == 2**depth
    assert network.distance_to_square(2 ** (depth + 1)) == 1 / (8 * 4**depth)  # dyadic numbers: nothing is rounded
    assert network.distance_to_square(20_001) <= 1 / (8 * 4**depth) + 1e-15


@pytest.mark.parametrize(("units", "depth"), [(2, 1), (2, 6), (3, 4), (5, 3)])
def test_a_zigzag_has_a_power_of_pieces(units: int, depth: int) -> None:
    line = ReluNetwork.zigzag(units, depth)
    assert (line.depth, line.width) == (depth, units)
    assert line.pieces(2 * units**depth) == units**depth <= (units + 1) ** depth
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
            assert network.distance_to_square(2000) >= least_distance(width, depth)


def test_a_looped_layer_multiplies_ever_better() -> None:
    layer = looped_product().dense
    x, y = torch.rand(2, 1000, generator=generator(5), dtype=torch.float64)
    state = torch.stack([torch.ones_like(x), (x + y) / 2, x, y, (x + y) / 2], dim=-1)
    for passes in range(1, 21):
        state = layer.feed_forward(state)
        off = state[:, 4] - x * y
        assert off.max() <= 4.0**-passes / 2 + 1e-15
        assert off.min() >= -(4.0**-passes) / 4 - 1e-15
