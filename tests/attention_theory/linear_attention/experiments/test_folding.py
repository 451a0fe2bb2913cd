import pytest
import torch

from attention_theory.linear_attention.experiments.folding import folded
from attention_theory.linear_attention.model.mhla import Heads, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import generator, normal


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("out", [1, 2])
def test_coefficients_and_gradients_are_those_of_the_plain_form(width: int, out: int) -> None:
    start = random_heads(2, width, 1, out=out, models=(2, 3))
    weights = normal(2, 3, out, width * width * (width + 1) // 2, seed=generator(2))
    found = []
    for form in (folded, coefficients):
        heads = Heads(*(part.clone().requires_grad_() for part in (start.values, start.queries)))
        value = form(heads)
        found.append((value, *torch.autograd.grad((weights * value.square()).sum(), (heads.values, heads.queries))))
    for fast, plain in zip(*found, strict=True):
        torch.testing.assert_close(fast, plain)
