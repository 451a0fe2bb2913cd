import pytest
import torch

from attention_theory.linear_attention.learning.restricted_certificate import kernel, restricted_certificate
from attention_theory.validation import ParameterError

DATA = torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], dtype=torch.float64)


def test_inputs_in_the_span_are_certified() -> None:
    found = restricted_certificate(DATA, torch.tensor([[3.0, -2.0, 0.0]], dtype=torch.float64))
    assert found.holds
    assert not found.holds_everywhere
    assert (found.rank, found.class_rank, found.features) == (2, 2, 3)
    assert found.gap < 1e-12


def test_inputs_outside_the_span_are_not() -> None:
    found = restricted_certificate(DATA, torch.tensor([[0.0, 3.0, 4.0]], dtype=torch.float64))
    assert not found.holds
    assert found.gap == pytest.approx(0.8)


def test_the_kernel_is_what_the_data_do_not_see() -> None:
    directions = kernel(DATA)
    assert directions.abs().tolist() == [[0.0, 0.0, 1.0]]
    with pytest.raises(ParameterError, match="features"):
        restricted_certificate(DATA, DATA[:, :2])
