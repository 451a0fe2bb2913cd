import torch

from attention_theory.linear_attention.learning.interpolation import sparse_step
from attention_theory.linear_attention.model.features import pairs
from attention_theory.linear_attention.model.mhla import mhla, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import normal


def test_a_model_by_its_terms() -> None:
    teacher, tokens = random_heads(2, 3, seed=0), normal(4, 5, 3, seed=1)
    p = coefficients(teacher)
    out, entry = p.nonzero(as_tuple=True)
    j, k = pairs(3)
    places = torch.stack([out, j[entry // 3], k[entry // 3], entry % 3])
    assert torch.allclose(sparse_step(p[out, entry], places, tokens), mhla(teacher, tokens), rtol=0, atol=1e-12)
