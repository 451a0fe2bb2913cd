import pytest
import torch

from attention_theory.linear_attention.learning.interpolation import design, interpolate, sparse_step
from attention_theory.linear_attention.model.features import pairs
from attention_theory.linear_attention.model.mhla import mhla, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import normal


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_the_coefficients_are_found(width: int) -> None:
    teacher = random_heads(2, width, seed=0)
    found = torch.stack(
        [interpolate(mhla(teacher, design(width, last)), width, last) for last in range(width)], dim=-1
    ).flatten(1)
    assert torch.allclose(found, coefficients(teacher), rtol=0, atol=1e-12 * width**3)


def test_a_model_by_its_terms() -> None:
    teacher, tokens = random_heads(2, 3, seed=0), normal(4, 5, 3, seed=1)
    p = coefficients(teacher)
    out, entry = p.nonzero(as_tuple=True)
    j, k = pairs(3)
    places = torch.stack([out, j[entry // 3], k[entry // 3], entry % 3])
    assert torch.allclose(sparse_step(p[out, entry], places, tokens), mhla(teacher, tokens), rtol=0, atol=1e-12)
