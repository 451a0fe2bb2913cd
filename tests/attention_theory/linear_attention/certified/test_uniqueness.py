import pytest
import torch

from attention_theory.linear_attention.certified import uniqueness
from attention_theory.linear_attention.model.parameters import antisymmetric_twin, coefficients, heads_from_matrix


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
