"""Codes against Assumption 2.2."""

import pytest
import torch

from attention_theory.in_context_reasoning.embedding import embedding


@pytest.mark.parametrize("codes", ["basis", "rotated"])
def test_codes_are_orthonormal(codes: str) -> None:
    rows = embedding(5, 12, codes, seed=3).stacked  # type: ignore[arg-type]
    assert (rows @ rows.mT - torch.eye(10)).abs().max() < 1e-13


def test_the_first_word_has_no_previous_word() -> None:
    codes = embedding(4, 8)
    inputs = codes.embed(torch.tensor([[2, 0, 3]]))[0]
    assert torch.equal(inputs[0], codes.word[2])
    assert torch.equal(inputs[1], codes.word[0] + codes.previous[2])
    assert torch.equal(inputs[2], codes.word[3] + codes.previous[0])
