import pytest
import torch
from torch import Tensor

from attention_theory.hyper_attention.interactions.flow import conserved, drift_of_a_step, flow_limit, gradient_flow
from attention_theory.hyper_attention.interactions.gram import descend, gram_loss, gram_tensors
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.randomness import generator, normal

SIZE = 3


def setting() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    draw = generator(0)
    symbols = sample_sequences(40, 5, SIZE, draw)
    target = normal(SIZE, SIZE, seed=draw)
    value = 0.5 + torch.rand(SIZE, generator=draw, dtype=torch.float64)
    return symbols, gram_tensors(symbols, SIZE), target, value


@pytest.mark.parametrize("norm", [1.0, 3.0])
def test_the_flow_ends_where_the_closed_form_says_and_keeps_the_conserved_quantity(norm: float) -> None:
    _, gram, target, value = setting()
    flow = gradient_flow(gram, target, value, end=40.0, records=20, norm=norm)
    score, end = flow_limit(target, value, norm)
    torch.testing.assert_close(flow.score[-1], score, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(flow.value[-1], end, rtol=1e-8, atol=1e-9)
    kept = conserved(flow.score, flow.value, norm)
    torch.testing.assert_close(kept, value.square().expand_as(kept), rtol=1e-9, atol=1e-9)


def test_codes_at_an_angle_follow_the_flow_in_their_own_coordinates() -> None:
    _, gram, target, value = setting()
    codes = torch.eye(SIZE, dtype=torch.float64) + 0.3 * normal(SIZE, SIZE, seed=3)
    begin = normal(SIZE, SIZE, seed=4)
    flow = gradient_flow(gram, target, value, 0.01, 2, score=begin, norm=codes @ codes.mT)
    inverse, steps = torch.linalg.inv(codes), 1000
    score, column = (inverse @ begin @ inverse.mT).requires_grad_(), (inverse @ value).requires_grad_()
    for _ in range(steps):
        loss = gram_loss(gram, (codes @ score @ codes.mT) * (codes @ column), target)
        by_score, by_column = torch.autograd.grad(loss, [score, column])
        with torch.no_grad():
            score -= 0.01 / steps * by_score
            column -= 0.01 / steps * by_column
    torch.testing.assert_close(flow.score[-1], (codes @ score @ codes.mT).detach(), rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(flow.value[-1], (codes @ column).detach(), rtol=1e-2, atol=1e-3)


def test_small_steps_of_descent_follow_the_flow() -> None:
    _, gram, target, value = setting()
    flow = gradient_flow(gram, target, value, end=0.2, records=2)
    steps = descend(gram, target[None], value[None], [(1e-5, 1e-5)], 20_000, record_every=20_000)
    torch.testing.assert_close(steps.score[0], flow.score[-1], rtol=1e-3, atol=1e-4)


def test_a_step_breaks_the_law_at_second_order_only_with_the_right_gradients() -> None:
    _, gram, target, value = setting()
    path = gradient_flow(gram, target, value, end=1.0)
    whole, half = (drift_of_a_step(path, gram, target, rate) for rate in (1e-4, 5e-5))
    assert abs(whole / half - 4) < 0.01
    wrong, half_wrong = (drift_of_a_step(path, gram, target, rate, score_factor=3.0) for rate in (1e-4, 5e-5))
    assert abs(wrong / half_wrong - 2) < 0.1
