"""The mode in which subnormal numbers are 0."""

import pytest
import torch

from attention_theory.subnormals import subnormals_as_zero


def halves() -> list[float]:
    """Half the smallest normal number of float32 and of float64, on enough entries for the vector units."""
    return [
        (torch.full((64,), torch.finfo(dtype).tiny, dtype=dtype) / 2).max().item()
        for dtype in (torch.float32, torch.float64)
    ]


@pytest.fixture(autouse=True)
def processor_has_the_mode() -> None:
    if not torch.set_flush_denormal(False):
        pytest.skip("this processor cannot take subnormal numbers for 0")


def test_they_are_zero_within_and_themselves_after_it() -> None:
    with subnormals_as_zero():
        assert halves() == [0.0, 0.0]
    assert min(halves()) > 0


def test_one_within_another_does_not_end_it() -> None:
    with subnormals_as_zero():
        with subnormals_as_zero():
            pass
        assert halves() == [0.0, 0.0]


def test_an_error_ends_it() -> None:
    with pytest.raises(ValueError, match="within"), subnormals_as_zero():
        raise ValueError("within")
    assert min(halves()) > 0
