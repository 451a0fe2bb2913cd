"""Codes against Assumption 2.2."""

import pytest
import torch

from attention_theory.in_context_reasoning.embedding import embedding


@pytest.mark.parametrize("codes", ["basis", "rotated"])
def test_codes_are_orthonormal(codes: str) -> None:
    rows = embedding(5, 12, codes, seed=3).stacked  # type: ignore[arg-type]
    assert (rows @ rows.mT - torch.eye(10)).abs().max() < 1e-13
