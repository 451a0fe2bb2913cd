import pytest
import torch

from attention_theory.linear_attention.certified import uniqueness
from attention_theory.linear_attention.learning.interpolation import interpolate


@pytest.mark.parametrize("width", [2, 3])
def test_as_many_inputs_as_features_leave_one_model(width: int) -> None:
    certificate = uniqueness.certify_identified(width)
    assert certificate.settled, certificate.control


@pytest.mark.parametrize("samples", [4, 5])
def test_fewer_inputs_leave_one_model_of_one_head(samples: int) -> None:
    certificate = uniqueness.certify_not_necessary(samples)
    assert certificate.settled, certificate.control


def test_the_design_is_settled() -> None:
    certificate = uniqueness.certify_design(3)
    assert certificate.settled, certificate.control


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


def test_histories_of_four_copies_are_settled() -> None:
    certificate = uniqueness.certify_copies()
    assert certificate.settled, certificate.control
