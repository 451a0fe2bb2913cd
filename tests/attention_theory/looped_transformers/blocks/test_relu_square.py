import pytest
import torch

from attention_theory.looped_transformers.blocks.relu_square import ReluNetwork


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
