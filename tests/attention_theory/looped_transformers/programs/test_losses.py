from dataclasses import replace

import pytest
import torch

from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.programs.losses import Loss, loss_listing, loss_program
from attention_theory.looped_transformers.programs.regression import descent
from attention_theory.randomness import normal

W, X, Y = torch.zeros(3, dtype=torch.float64), normal(2, 3, seed=0), 3 * normal(2, seed=1)


def by_autograd(loss: str, r: torch.Tensor) -> torch.Tensor:
    r = r.clone().requires_grad_()
    values = {
        "square": r**2 / 2,
        "logistic": torch.nn.functional.softplus(-r),
        "Huber": torch.nn.functional.huber_loss(r, torch.zeros_like(r), reduction="none"),
        "smooth Huber": (1 + r**2).sqrt() - 1,
    }
    return torch.autograd.grad(values[loss].sum(), r)[0]


@pytest.mark.parametrize("loss", [Loss.square(), Loss.logistic(), Loss.huber(1.0, 20), Loss.smooth_huber()])
def test_the_derivatives_are_those_of_the_losses(loss: Loss) -> None:
    r = torch.linspace(-4, 4, 2001, dtype=torch.float64)
    assert (loss.derivative(r) - by_autograd(loss.name, r)).abs().max() < 1e-14
    rises = torch.diff(loss.derivative(r)) / (r[1] - r[0])
    assert rises.min() >= -1e-12
    assert rises.max() <= loss.curvature + 1e-9
    if loss.sigmoids is not None:
        assert (loss.sigmoids(r) - loss.derivative(r)).abs().max() <= loss.error + 1e-15


@pytest.mark.parametrize("together", [False, True])
def test_the_programs_equal_the_plain_descent(together: bool) -> None:
    for loss in (Loss.logistic(), Loss.huber(1.0, 20)):
        program = loss_program(W, X, Y, 0.1, 3, together)
        found = program.variable(interpret(program, functions=loss.functions).memory, "w")[:, 0]
        assert (found - descent(W, X, Y, 0.1, 3, loss.derivative, together)[-1]).abs().max() < 1e-14
    assert torch.equal(descent(W, X, Y, 0.1, 3, Loss.square().derivative), descent(W, X, Y, 0.1, 3))


def test_the_inner_loop_finds_the_derivative() -> None:
    loss = Loss.smooth_huber()
    wanted = descent(W, X, Y, 0.1, 2, loss.derivative)[-1]
    off = []
    for rounds in (4, 14):
        program = loss_program(W, X, Y, 0.1, 2, inner=rounds, largest=6.0)
        off.append((program.variable(interpret(program).memory, "w")[:, 0] - wanted).abs().max().item())
    assert off[0] > 1e-6
    assert off[1] < 1e-14
    assert "inner2:" in loss_listing(2, inner=True)


def test_the_machine_stays_within_the_bound() -> None:
    loss = Loss.huber(1.0, 10)
    program = loss_program(W, X, Y, 0.1, 2)
    run = FleqMachine(program, loss.blocks(program)).run(program, 40)
    found = program.variable(run.memory, "w")[:, 0]
    assert loss.sigmoids is not None
    for wanted in (loss, replace(loss, derivative=loss.sigmoids, error=0.0)):
        iterates = descent(W, X, Y, 0.1, 2, wanted.derivative)
        assert (found - iterates[-1]).norm() <= wanted.error_bound(X, Y, iterates, 0.1)
    assert run.halted
