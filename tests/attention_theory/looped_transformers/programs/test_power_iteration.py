import pytest
import torch

from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.programs.power_iteration import (
    distance_bounds,
    inverse_root_iterates,
    least_length,
    power_error_bound,
    power_iterates,
    power_program,
    root_rounds,
    sign_free_distance,
)
from attention_theory.randomness import normal


def test_power_iteration_by_program_and_plainly() -> None:
    basis = torch.linalg.qr(normal(4, 4, seed=0))[0]
    matrix = basis @ torch.diag(torch.tensor([1.0, 0.3, -0.2, 0.1], dtype=torch.float64)) @ basis.mT
    program = power_program(matrix, 12, 16)
    b = program.variable(interpret(program).memory, "b")[:, 0]
    plain = power_iterates(matrix, torch.full((4,), 0.5, dtype=torch.float64), 12)[-1]
    assert torch.allclose(b, plain / torch.linalg.vector_norm(plain), rtol=0, atol=1e-12)
    assert sign_free_distance(-b, basis[:, 0]) < 1e-5
    assert not interpret(power_program(matrix, 3, form={"line 3": "printed"}), 500).halted


def test_the_bound_holds_for_the_machine_and_grows_as_the_square_shrinks() -> None:
    matrix = torch.diag(torch.tensor([1.0, 0.3, 0.1], dtype=torch.float64))
    program = power_program(matrix, 4)
    run = FleqMachine(program).run(program)
    plain = power_iterates(matrix, torch.ones(3, dtype=torch.float64), 4)[-1]
    off = (program.variable(run.memory, "b")[:, 0] - plain / plain.norm()).norm()
    assert off <= power_error_bound(matrix, 4, 1e-7) < 1e-3
    assert power_error_bound(matrix, 12, 1e-7) > power_error_bound(matrix, 4, 1e-7)
    few = power_error_bound(matrix, 4, 1e-7, 1)
    assert few > 0.1  # the second loop has not arrived
    start = torch.cat([torch.ones(3, 1, dtype=torch.float64), normal(3, 2, seed=1)], dim=1)
    basis = torch.linalg.qr(start)[0]
    hidden = basis @ torch.diag(torch.tensor([0.1, 1.0, 0.2], dtype=torch.float64)) @ basis.mT
    assert power_error_bound(hidden, 8, 1e-7, 80) == torch.inf


def test_the_bound_knows_that_large_operands_meet_themselves() -> None:
    """Where c x⁴ nears C a product of S and x² is wrong, in the machine and by the bound."""
    source = torch.Generator().manual_seed(3)
    matrix = torch.randn(10, 4, 4, generator=source, dtype=torch.float64)[7]  # S is 7e-5
    program = power_program(matrix, 6)
    plain = power_iterates(matrix, torch.ones(4, dtype=torch.float64), 6)[-1]
    b = program.variable(FleqMachine(program, gate=1e5).run(program).memory, "b")[:, 0]
    assert (b - plain / plain.norm()).norm() > 0.01
    assert power_error_bound(matrix, 6, 1e-7) == torch.inf
    assert power_error_bound(matrix, 6, 1e-7, height=60.0) < 0.01


def test_the_rounds_of_the_inverse_root_are_enough_and_known_before_the_run() -> None:
    for error in (0.4, 1e-3, 1e-12):
        for square in torch.logspace(-12, 0, 200, dtype=torch.float64):
            root = inverse_root_iterates(square, root_rounds(square, error))[-1]
            assert (root * square.sqrt() - 1).abs() <= error
    for seed in range(20):
        matrix = normal(5, 5, seed=seed)
        unit = matrix / torch.linalg.matrix_norm(matrix, 2)
        start = torch.full((5,), 5**-0.5, dtype=torch.float64)
        for steps in (1, 7):
            assert power_iterates(unit, start, steps)[-1].norm() >= least_length(matrix, steps) * (1 - 1e-9)
    both = matrix + matrix.mT
    assert least_length(both, 9) == pytest.approx(float(least_length(both, 1)))  # no T in it for a symmetric matrix


def test_the_distance_lies_between_its_bounds() -> None:
    for seed in range(5):
        draw = normal(4, 4, seed=seed)
        matrix = draw + draw.mT
        values, vectors = torch.linalg.eigh(matrix)
        start = torch.full((4,), 0.5, dtype=torch.float64)
        away = sign_free_distance(power_iterates(matrix / 5, start, 12), vectors[:, values.abs().argmax()])
        lower, upper = distance_bounds(matrix, 12)
        assert bool((lower <= away * (1 + 1e-9)).all())
        assert bool((away <= upper * (1 + 1e-9)).all())
        assert upper[12] / upper[11] == pytest.approx(float(values.abs().sort().values[-2] / values.abs().max()))
    plane = torch.diag(torch.tensor([1.0, -0.5], dtype=torch.float64))
    lower, upper = distance_bounds(plane, 1)
    assert upper.tolist() == pytest.approx([1.0, 0.5])  # 45 degrees to begin with
    assert lower.tolist() == pytest.approx([2**-0.5, 0.5 / 1.25**0.5])
