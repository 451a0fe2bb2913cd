from decimal import Decimal

import pytest
import torch

from attention_theory.looped_transformers.machine.decimals import DecimalState
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.looped_transformers.machine.limit import limit_piece
from attention_theory.randomness import generator
from attention_theory.rows import Rows, combine, moves
from attention_theory.validation import ParameterError

ROWS = Rows(x=4)


def random_layers(seed: int, depth: int) -> list[Layer]:
    """Layers of two heads and five units with weights that are multiples of 1/8."""
    source = generator(seed)

    def some(count: int) -> dict[int, float]:
        numbers = torch.randint(-8, 9, (count,), generator=source) / 8
        return dict(enumerate(numbers.tolist()))

    layers = [Layer(ROWS, "random") for _ in range(depth)]
    for layer in layers:
        for _ in range(2):
            layer.head("head", [some(4), some(4)], [some(4), some(4)], [(some(4), row) for row in range(4)])
        for _ in range(5):
            layer.unit("unit", some(4), some(4), bias=some(1)[0])
        layer.constant(some(4))
    return layers


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_it_is_what_a_very_sharp_softmax_gives_in_decimals_nearby_too(depth: int) -> None:
    step = 2.0**-20
    for seed in range(8):
        layers, source = random_layers(seed, depth), generator(100 + seed)
        state = torch.randint(-64, 65, (5, 4), generator=source).double() / 64
        state[1] = state[0]  # two columns that are equal, and stay tied
        moved = torch.randint(-64, 65, (2, 5, 4), generator=source).double() / 64
        moved[:, 1] = moved[:, 0]
        piece = limit_piece([layer.dense for layer in layers], state, moved)
        heat = Decimal(200 / min(piece.gap, 10.0))
        for along, derivative in zip(moved, piece.derivative, strict=True):
            sharp = DecimalState(state + step * along).after(layers, heat).nearest()
            assert torch.allclose(sharp, piece.value + step * derivative, atol=1e-9 * (1 + sharp.abs().max().item()))


def test_it_errs_as_the_gap_says() -> None:
    layer = Layer(ROWS, "one head")
    layer.head("copy", combine(range(1)), combine(range(1, 2)), moves(range(2, 3), range(3, 4)))
    state = torch.tensor([[1.0, 1.0, 5.0, 0.0], [0.5, 1.0, 1.0, 0.0]], dtype=torch.float64)
    piece = limit_piece([layer.dense], state, torch.zeros(0, 2, 4, dtype=torch.float64))
    assert piece.gap == 0.5
    assert piece.value[:, 3].tolist() == [5.0, 5.0]
    off = (layer.dense(state, 40.0) - piece.value)[0, 3].item()
    assert off == pytest.approx(-4 * torch.tensor(-20.0).exp().item(), rel=1e-6)


def test_an_input_on_a_boundary_is_refused() -> None:
    layer, state = Layer(ROWS, "one head"), torch.zeros(2, 4, dtype=torch.float64)
    layer.head("copy", combine(range(1)), combine(range(1, 2)), moves(range(2, 3), range(3, 4)))
    state[:, 1] = 1.0
    along = torch.zeros(1, 2, 4, dtype=torch.float64)
    assert limit_piece([layer.dense], state, along).gap == torch.inf
    along[0, 0, 0] = 1.0  # this would break the tie
    with pytest.raises(ParameterError, match="two highest scores"):
        limit_piece([layer.dense], state, along)
    kink = Layer(ROWS, "one unit")
    kink.unit("relu", {0: 1.0}, {1: 1.0})
    with pytest.raises(ParameterError, match="kink"):
        limit_piece([kink.dense], state, along)
