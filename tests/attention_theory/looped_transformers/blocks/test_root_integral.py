import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.blocks.approximation import ROOT_INTEGRAL, root_at_scales


def test_the_constant_is_the_integral() -> None:
    s = torch.linspace(-80, 80, 200_001, dtype=torch.float64)
    integral = torch.trapezoid((s.exp() / 2).tanh() * (-s / 2).exp(), s).item()
    assert math.isclose(ROOT_INTEGRAL, integral, rel_tol=1e-12)


@given(error=st.floats(1e-3, 0.5), most=st.floats(1.0, 1e5))
@settings(max_examples=25)
def test_many_sigmoids_come_within_half_the_error(error: float, most: float) -> None:
    """Half of the error is for the trapezoidal rule, which needs none of it with 400 sigmoids."""
    x = torch.cat([torch.linspace(0, most, 2000), torch.logspace(-9, math.log10(most), 2000)]).double()
    assert (root_at_scales(400, most, error)(x) - x.sqrt()).abs().max() < 0.55 * error
