import pytest
import torch

from attention_theory.linear_attention.experiments.folding import fold_back, folded
from attention_theory.linear_attention.model.mhla import Heads, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import generator, normal


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("out", [1, 2])
def test_coefficients_and_gradients_are_those_of_the_plain_form(width: int, out: int) -> None:
    start = random_heads(2, width, 1, out=out, models=(2, 3))
    weights = normal(2, 3, out, width * width * (width + 1) // 2, seed=generator(2))
    heads = Heads(*(part.clone().requires_grad_() for part in (start.values, start.queries)))
    plain = coefficients(heads)
    of_heads = torch.autograd.grad((weights * plain.square()).sum(), (heads.values, heads.queries))
    fast = folded(start)
    torch.testing.assert_close(fast, plain.detach())
    torch.testing.assert_close(fold_back(start, 2 * weights * fast), of_heads)
