import pytest
import torch
from torch import Tensor

from attention_theory.hyper_attention.interactions.gram import gram_gradients
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.hyper_attention.layers.linear_hyper_attention import linear_hyper_attention
from attention_theory.hyper_attention.layers.pair_gram import residual_map, tuple_gram, tuple_versatility
from attention_theory.randomness import normal

SIZE, TOKENS, SAMPLES = 2, 4, 30
SYMBOLS = sample_sequences(SAMPLES, TOKENS, SIZE, seed=0)


TARGET = normal(SIZE, SIZE**2, seed=1)


def layer_outputs(score: Tensor, value: Tensor) -> Tensor:
    hot = torch.eye(SIZE, dtype=torch.float64)[SYMBOLS]
    cube, square = score.unflatten(1, (SIZE, SIZE)), value.unflatten(0, (SIZE, SIZE))
    return linear_hyper_attention(hot, cube, square[..., None], "le").squeeze(-1)


def test_residual_map_is_the_derivative_of_the_outputs() -> None:
    value = normal(SIZE**2, seed=3)
    jacobian = torch.autograd.functional.jacobian(lambda score: layer_outputs(score, value), TARGET)
    torch.testing.assert_close(residual_map(SYMBOLS, SIZE, value), jacobian.flatten(0, 1).flatten(1))


def test_versatility() -> None:
    enough = tuple_versatility(SYMBOLS, SIZE)
    assert enough.ranks.tolist() == [4, 4]
    assert enough.least.min() > 0.1
    too_short = tuple_versatility(sample_sequences(50, 1, SIZE, seed=0), SIZE)
    assert too_short.ranks.tolist() == [1, 1]
    assert too_short.least.abs().max() < 1e-12
    assert tuple_versatility(torch.zeros(2, 3, dtype=torch.int64), SIZE).ranks.tolist() == [1, 0]


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_gradients_of_every_order_are_those_of_the_layer_written_out(order: int) -> None:
    tuples = SIZE ** (order - 1)
    score, value = normal(SIZE, tuples, seed=2).requires_grad_(), normal(tuples, seed=3).requires_grad_()
    target = normal(SIZE, tuples, seed=4)
    hot = torch.eye(SIZE, dtype=torch.float64)[SYMBOLS]

    def outputs(c: Tensor, w: Tensor) -> Tensor:
        return linear_hyper_attention(hot, c.reshape([SIZE] * order), w.reshape([SIZE] * (order - 1) + [1]), "le")

    loss = (outputs(score, value) - outputs(target, torch.ones_like(value))).square().sum((1, 2)).mean()
    expected = torch.autograd.grad(loss, (score, value))
    *ours, ours_loss = gram_gradients(tuple_gram(SYMBOLS, SIZE, order - 1), target, score.detach(), value.detach())
    torch.testing.assert_close(ours_loss, loss.detach(), rtol=1e-11, atol=0)
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
