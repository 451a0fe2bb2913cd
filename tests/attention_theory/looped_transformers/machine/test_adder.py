import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.codes import from_bits, to_bits
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Rows


def add_in_a_layer(
    a: torch.Tensor, b: torch.Tensor, bits: int, sign: int = 1, constant: int = 0, last_pair: bool = True
) -> torch.Tensor:
    rows = Rows(a=bits, b=bits, indicator=1)
    layer = Layer(rows, "add")
    add(layer, [(rows["a"], 1), (rows["b"], sign)], rows["a"], constant, rows["indicator"][0], last_pair)
    state = torch.cat([to_bits(a, bits), to_bits(b, bits), torch.ones(len(a), 1, dtype=torch.float64)], dim=1)
    return layer.dense.feed_forward(state)[:, :bits]


@given(st.integers(1, 24), st.data())
@settings(max_examples=60)
def test_sums_and_differences_modulo(bits: int, data: st.DataObject) -> None:
    a, b = (torch.tensor([data.draw(st.integers(0, 2**bits - 1))]) for _ in range(2))
    assert torch.equal(add_in_a_layer(a, b, bits), to_bits((a + b) % 2**bits, bits))
    assert torch.equal(add_in_a_layer(a, b, bits, constant=1), to_bits((a + b + 1) % 2**bits, bits))
    assert torch.equal(add_in_a_layer(a, b, bits, sign=-1, constant=1), to_bits((a - b) % 2**bits, bits))


def test_every_pair_of_five_bits() -> None:
    a, b = (side.flatten() for side in torch.meshgrid(torch.arange(32), torch.arange(32), indexing="ij"))
    assert torch.equal(from_bits(add_in_a_layer(a, b, 5)), (a + b) % 32)
    wrong = from_bits(add_in_a_layer(a, b, 5, last_pair=False)) != (a + b) % 32
    assert wrong.any()
    assert not wrong[(a & b) == 0].any()


def test_where_the_indicator_is_0_nothing_comes_out() -> None:
    rows = Rows(a=4, indicator=1)
    layer = Layer(rows, "increment")
    add(layer, [(rows["a"], 1)], rows["a"], 1, rows["indicator"][0])
    state = torch.zeros(3, 5, dtype=torch.float64)
    assert layer.dense.feed_forward(state).count_nonzero() == 0


@pytest.mark.parametrize("constant", range(16))
def test_any_constant_to_one_term(constant: int) -> None:
    rows = Rows(a=4)
    layer = Layer(rows, "add")
    add(layer, [(rows["a"], 1)], rows["a"], constant)
    numbers = torch.arange(16)
    assert torch.equal(from_bits(layer.dense.feed_forward(to_bits(numbers, 4))), (numbers + constant) % 16)
