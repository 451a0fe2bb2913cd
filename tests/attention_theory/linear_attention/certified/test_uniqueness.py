import pytest
import torch

from attention_theory.linear_attention.certified import uniqueness
from attention_theory.linear_attention.learning.interpolation import interpolate


def test_a_wrong_coefficient_of_the_design_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(labels: torch.Tensor, width: int, last: int) -> torch.Tensor:
        learned = interpolate(labels, width, last)
        learned[0, 0] *= 1 + 2.0**-52
        return learned

    monkeypatch.setattr(uniqueness, "interpolate", wrong)
    assert uniqueness.certify_design(2).outcome == "refuted"


def test_a_bound_above_the_least_eigenvalue_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniqueness, "least_eigenvalue_bound", lambda width: 0.1)
    assert uniqueness.certify_design(2).outcome == "refuted"
