import torch

from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.programs.newton import newton_error_bound, newton_program, newton_residuals
from attention_theory.randomness import normal


def test_newton_inverts_what_the_printed_start_does_not() -> None:
    quarter_turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    assert newton_residuals(quarter_turn, 8)[-1] < 1e-12
    assert newton_residuals(quarter_turn, 8, "printed")[-1] > 1
    assert (newton_residuals(normal(40, 4, 4, seed=0), 60)[-1] < 1e-9).all()


def test_the_newton_program_is_the_iteration() -> None:
    matrix = normal(4, 4, seed=0)
    program = newton_program(matrix, 11)
    residual = torch.linalg.matrix_norm(matrix @ program.variable(interpret(program).memory, "x") - torch.eye(4))
    assert torch.isclose(residual, newton_residuals(matrix, 12)[-1], rtol=1e-6, atol=1e-13)
    assert len(interpret(program).counters) == 2 + 6 * 12


def test_the_printed_newton_program_needs_symmetry() -> None:
    matrix = normal(4, 4, seed=0)
    symmetric = matrix @ matrix.mT / 4 + torch.eye(4) / 2
    for target, works in ((symmetric, True), (matrix, False)):
        program = newton_program(target, 14, "printed")
        x = program.variable(interpret(program).memory, "x")
        assert bool(torch.linalg.matrix_norm(target @ x - torch.eye(4)) < 1e-10) is works


def test_the_bound_grows_with_the_condition_and_holds_for_the_machine() -> None:
    matrices = torch.eye(3, dtype=torch.float64) + normal(4, 3, 3, seed=5) / 3
    bounds = newton_error_bound(matrices, 6, 1e-7)
    programs = [newton_program(matrix, 5) for matrix in matrices]
    for program, run, bound in zip(programs, FleqMachine(programs[0]).run_many(programs), bounds, strict=True):
        off = program.variable(run.memory, "x") - program.variable(interpret(program).memory, "x")
        assert torch.linalg.matrix_norm(off) <= bound
    stretched = newton_error_bound(torch.diag(torch.tensor([1.0, 1.0, 1e-9], dtype=torch.float64)), 60, 1e-7)
    assert stretched == torch.inf
