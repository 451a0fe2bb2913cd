from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
import torch

from attention_theory.looped_transformers.machine.decimals import DecimalState
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.looped_transformers.subleq.language import random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.rows import Rows

ROWS = Rows(code=1, value=1, found=1)


def reading() -> Layer:
    layer = Layer(ROWS, "read")
    layer.head("read", keys=[{0: 1.0}], queries=[{0: 1.0}], values=[({1: 1.0}, 2)])
    return layer


def test_the_weights_are_those_of_the_softmax_to_the_last_of_sixty_digits() -> None:
    """Codes 1 and -1: the other column weighs exp(-2 λ) beside 1, and float64 sees nothing of it at 40."""
    state = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0]], dtype=torch.float64)
    found = DecimalState(state).after([reading()], Decimal(40))
    with localcontext(Context(prec=60)):
        other = Decimal(-80).exp()
        assert abs(found.columns[0][2] / (other / (1 + other)) - 1) < Decimal("1e-57")
        assert 0 < 1 - found.columns[1][2] < Decimal("1e-34")
    wanted = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, 1.0]], dtype=torch.float64)
    assert found.nearest()[1].tolist() == wanted[1].tolist()  # float64 does not see it
    assert found.distance(wanted) == pytest.approx(1.804851387845415e-35, rel=1e-12)


def test_without_temperature_a_head_takes_the_mean_and_units_are_exact() -> None:
    layer = reading()
    layer.unit("bend", {1: 2.0, 0: 1.0}, {1: -1.0}, bias=-0.5)
    layer.constant({0: 3.0})
    state = torch.tensor([[1.0, 2.0, 0.0], [-1.0, 0.25, 0.0]], dtype=torch.float64)
    found = DecimalState(state).after([layer], Decimal(0))
    wanted = []
    for code, value in ((Fraction(1), Fraction(2)), (Fraction(-1), Fraction(1, 4))):
        bent = max(2 * value + code - Fraction(1, 2), Fraction(0))
        wanted.append([float(code + 3), float(value - bent), float(Fraction(9, 8))])
    assert found.nearest().tolist() == wanted


@pytest.mark.parametrize("inverse_temperature", [0.5, 3.0])
def test_a_cycle_is_that_of_the_matrices(inverse_temperature: float) -> None:
    machine = SubleqMachine(4, 5)
    source = random_program(5, 6, 5, 0)
    state = machine.load(source)
    found = DecimalState(state).after(machine.layers, Decimal(inverse_temperature))
    wanted = machine.cycle(state, inverse_temperature)
    torch.testing.assert_close(found.nearest(), wanted, rtol=1e-11, atol=1e-11)
