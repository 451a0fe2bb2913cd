import pytest
import torch

from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.codes import from_bits, to_bits
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Rows


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
