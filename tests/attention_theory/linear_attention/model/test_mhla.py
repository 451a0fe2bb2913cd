import torch

from attention_theory.linear_attention.model.mhla import mhla, random_heads, stack_lengths
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal


def test_zero_tokens_in_front_change_nothing() -> None:
    model = random_heads(2, 3, seed=5)
    sequences = [normal(n, 3, seed=n) for n in (1, 4, 2)]
    stacked = stack_lengths(sequences)
    assert stacked.shape == (3, 4, 3)
    one_by_one = torch.stack([mhla(model, one) for one in sequences])
    assert relative_error(mhla(model, stacked), one_by_one) < 1e-13
