import pytest
import torch

from attention_theory.encodings import sinusoidal
from attention_theory.memorization.examples import draw
from attention_theory.memorization.positions import smallest_singular_ratio


def test_agrees_with_double_precision_where_that_can_tell() -> None:
    values = torch.linalg.svdvals(sinusoidal(5, 16))
    assert smallest_singular_ratio(5, 16, 40) == pytest.approx((values[-1] / values[0]).item(), rel=1e-6)


def test_tokens_are_added_to_the_positions() -> None:
    tokens = draw("gaussian", 5, 16, seed=0)
    values = torch.linalg.svdvals(sinusoidal(5, 16) + tokens)
    assert smallest_singular_ratio(5, 16, 40, tokens) == pytest.approx((values[-1] / values[0]).item(), rel=1e-6)
