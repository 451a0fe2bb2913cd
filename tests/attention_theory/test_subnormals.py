"""The mode in which subnormal numbers are 0."""

from contextlib import suppress

import pytest
import torch

from attention_theory._subnormals import subnormals_as_zero


def halves() -> list[float]:
    """Half the smallest normal number of float32 and of float64, on enough entries for the vector units."""
    return [
        (torch.full((64,), torch.finfo(dtype).tiny, dtype=dtype) / 2).max().item()
        for dtype in (torch.float32, torch.float64)
    ]


@pytest.mark.skipif(not torch.set_flush_denormal(False), reason="this processor cannot take subnormal numbers for 0")
def test_they_are_zero_within_and_themselves_after_an_error_in_it() -> None:
    with suppress(ValueError), subnormals_as_zero():
        with subnormals_as_zero():
            pass
        assert halves() == [0.0, 0.0]
        raise ValueError
    assert min(halves()) > 0
