import math

import pytest
import torch
from torch import Tensor

from attention_theory.looped_transformers.backpropagation import Network, mean_loss, random_network, train
from attention_theory.looped_transformers.backpropagation_program import (
    FAULTS,
    listing_program,
    machine_program,
    read_network,
)
from attention_theory.looped_transformers.calculator import (
    calculator_blocks,
    calculator_program,
    calculator_sums,
    exact_trace,
    first_entries,
)
from attention_theory.looped_transformers.fleq import FUNCTIONS, interpret, variable
from attention_theory.looped_transformers.fleq_machine import FleqMachine, compare
from attention_theory.looped_transformers.newton import newton_program, newton_residuals
from attention_theory.looped_transformers.power_iteration import (
    inverse_root_iterates,
    power_iterates,
    power_program,
    sign_free_distance,
)
from attention_theory.looped_transformers.regression import sgd, sgd_program, unrolled_program


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_newton_inverts_what_the_printed_start_does_not() -> None:
    quarter_turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    assert newton_residuals(quarter_turn, 8)[-1] < 1e-12
    assert newton_residuals(quarter_turn, 8, "printed")[-1] > 1
    assert (newton_residuals(normal(40, 4, 4), 60)[-1] < 1e-9).all()


def test_the_newton_program_is_the_iteration() -> None:
    matrix = normal(4, 4)
    program = newton_program(matrix, 11)
    residual = torch.linalg.matrix_norm(matrix @ variable(program, interpret(program).memory, "x") - torch.eye(4))
    assert torch.isclose(residual, newton_residuals(matrix, 12)[-1], rtol=1e-6, atol=1e-13)
    assert len(interpret(program).counters) == 2 + 6 * 12


def test_the_printed_newton_program_needs_symmetry() -> None:
    matrix = normal(4, 4)
    symmetric = matrix @ matrix.mT / 4 + torch.eye(4) / 2
    for target, works in ((symmetric, True), (matrix, False)):
        program = newton_program(target, 14, "printed")
        x = variable(program, interpret(program).memory, "x")
        assert bool(torch.linalg.matrix_norm(target @ x - torch.eye(4)) < 1e-10) is works


def test_power_iteration_by_program_and_plainly() -> None:
    basis = torch.linalg.qr(normal(4, 4))[0]
    matrix = basis @ torch.diag(torch.tensor([1.0, 0.3, -0.2, 0.1], dtype=torch.float64)) @ basis.mT
    program = power_program(matrix, 12, 16)
    b = variable(program, interpret(program).memory, "b")[:, 0]
    plain = power_iterates(matrix, torch.full((4,), 0.5, dtype=torch.float64), 12)[-1]
    assert torch.allclose(b, plain / torch.linalg.vector_norm(plain), rtol=0, atol=1e-12)
    assert sign_free_distance(-b, basis[:, 0]) < 1e-5
    assert not interpret(power_program(matrix, 3, faults=["line 3"]), 500).halted


def test_the_inverse_root_converges_below_three() -> None:
    squares = torch.tensor([0.01, 0.5, 2.9], dtype=torch.float64)
    assert torch.allclose(inverse_root_iterates(squares, 40)[-1], squares.rsqrt())
    assert inverse_root_iterates(torch.tensor(3.0).double(), 5)[-1] == 0


def test_descent_programs_equal_the_plain_descent() -> None:
    w, x, y = torch.zeros(4, dtype=torch.float64), normal(3, 4), normal(3, seed=1)
    expected = sgd(w, x, y, 0.1, 4)[-1]
    for program in (sgd_program(w, x, y, 0.1, 4), unrolled_program(w, x, y, 0.1, 4)):
        assert torch.allclose(variable(program, interpret(program).memory, "w")[:, 0], expected, rtol=0, atol=1e-14)
    printed = sgd_program(w, x, y, 0.1, 4, ["counters"])
    run = interpret(printed)
    assert run.executed.count(printed.labels["update"]) == (3 + 1) * (4 + 1)


def small_training() -> tuple[Network, Tensor, Tensor]:
    return random_network(4, 4, 1), normal(2, 4), normal(2, seed=3)


def test_the_gradient_is_the_derivative() -> None:
    network, x, y = small_training()
    leaves = [part.clone().requires_grad_() for part in vars(network).values()]
    automatic = torch.autograd.grad(Network(*leaves).loss(x[0], y[0].item()), leaves)
    assert Network(*automatic).distance(network.gradient(x[0], y[0].item())) < 1e-14


def test_training_lowers_the_loss() -> None:
    network, x, y = small_training()
    assert mean_loss(train(network, x, y, 0.2, 20)[-1], x, y) < mean_loss(network, x, y) / 2


def test_both_training_programs_equal_the_plain_training() -> None:
    network, x, y = small_training()
    expected = train(network, x, y, 0.2, 2)[-1]
    for program in (listing_program(network, x, y, 0.2, 2), machine_program(network, x, y, 0.2, 2)):
        assert read_network(program, interpret(program).memory).distance(expected) < 1e-13


@pytest.mark.parametrize("fault", FAULTS)
def test_every_printed_fault_shows(fault: str) -> None:
    network, x, y = small_training()
    program = listing_program(network, x, y, 0.2, 2, [fault])
    run = interpret(program, 1_000)
    assert not run.halted or read_network(program, run.memory).distance(train(network, x, y, 0.2, 2)[-1]) > 1e-2


def test_the_machine_calculates() -> None:
    program = calculator_program(1.3, 2.1, 0.7, 0.9)
    blocks = calculator_blocks(*calculator_sums(0.2, 0.3, 5.0, 4.0))
    functions = FUNCTIONS | {block.name: block.reference for block in blocks}
    run = FleqMachine(program, blocks).run(program, 20)
    result = compare(run, interpret(program, functions=functions))
    assert result.counters_agree
    assert result.deviation < 1e-6
    exact = exact_trace(1.3, 2.1, 0.7, 0.9)
    assert math.isclose(exact[-1], math.sqrt(1 / 2.43) / 100)
    assert all(
        abs(ours - theirs) < 0.4 for ours, theirs in zip(first_entries(program, run.memories, "t"), exact, strict=True)
    )
