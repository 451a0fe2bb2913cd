import pytest
import torch

from attention_theory.linear_attention.certified import uniqueness
from attention_theory.linear_attention.learning.interpolation import interpolate
from attention_theory.linear_attention.model.parameters import antisymmetric_twin, coefficients, heads_from_matrix


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


def test_two_heads_approach_a_function_and_do_not_compute_it() -> None:
    certificate = uniqueness.certify_no_minimum()
    assert certificate.settled, certificate.control
    target = uniqueness.unattained()
    for seed in range(20):  # all matrices of the function are of this form, and none has rank 2
        assert torch.linalg.matrix_rank(antisymmetric_twin(target, seed, scale=3.0)) >= 3
    for epsilon in (1e-2, 1e-4, 1e-6):
        heads = heads_from_matrix(uniqueness.near_unattained(epsilon))
        gap = (coefficients(heads) - coefficients(target)).norm().item()
        assert heads.count == 2
        assert gap == pytest.approx(2**0.5 * epsilon, rel=1e-3)


def test_a_function_of_two_heads_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniqueness, "unattained", lambda nilpotent=1.0: torch.zeros(4, 4, dtype=torch.float64))
    assert uniqueness.certify_no_minimum().outcome != "proved"
