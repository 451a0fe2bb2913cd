import pytest
import torch

from attention_theory.encodings import sinusoidal
from attention_theory.memorization.examples import draw
from attention_theory.memorization.positions import smallest_singular_ratio


@pytest.mark.parametrize("tokens", [None, draw("gaussian", 5, 16, seed=0)])
def test_agrees_with_double_precision_where_that_can_tell(tokens: torch.Tensor | None) -> None:
    rows = sinusoidal(5, 16) if tokens is None else sinusoidal(5, 16) + tokens
    values = torch.linalg.svdvals(rows)
    assert smallest_singular_ratio(5, 16, 40, tokens) == pytest.approx((values[-1] / values[0]).item(), rel=1e-6)
