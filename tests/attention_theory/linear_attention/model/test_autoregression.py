import torch
from torch import Tensor

from attention_theory.linear_attention.model.autoregression import autoregress


def add_last_two(tokens: Tensor) -> Tensor:
    return tokens[..., -1, :] + tokens[..., -2, :]


PROMPT = torch.tensor([[1], [1]])


def test_the_new_output_is_appended() -> None:
    assert autoregress(add_last_two, PROMPT, 4)[:, 0].tolist() == [1, 1, 2, 3, 5, 8]
    assert autoregress(add_last_two, PROMPT, 4, form="printed")[:, 0].tolist() == [1, 1, 1, 2, 2, 3]


def test_rounding_acts_before_the_token_is_read_again() -> None:
    run = autoregress(add_last_two, PROMPT, 3, rounding=lambda token: token % 2)
    assert run[:, 0].tolist() == [1, 1, 0, 1, 1]
