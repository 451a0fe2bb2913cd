import torch

from attention_theory.looped_transformers.fleq.language import interpret, variable
from attention_theory.looped_transformers.programs.power_iteration import (
    inverse_root_iterates,
    power_iterates,
    power_program,
    sign_free_distance,
)
from attention_theory.randomness import normal


def test_power_iteration_by_program_and_plainly() -> None:
    basis = torch.linalg.qr(normal(4, 4, seed=0))[0]
    matrix = basis @ torch.diag(torch.tensor([1.0, 0.3, -0.2, 0.1], dtype=torch.float64)) @ basis.mT
    program = power_program(matrix, 12, 16)
    b = variable(program, interpret(program).memory, "b")[:, 0]
    plain = power_iterates(matrix, torch.full((4,), 0.5, dtype=torch.float64), 12)[-1]
    assert torch.allclose(b, plain / torch.linalg.vector_norm(plain), rtol=0, atol=1e-12)
    assert sign_free_distance(-b, basis[:, 0]) < 1e-5
    assert not interpret(power_program(matrix, 3, form={"line 3": "printed"}), 500).halted


def test_the_inverse_root_converges_below_three() -> None:
    squares = torch.tensor([0.01, 0.5, 2.9], dtype=torch.float64)
    assert torch.allclose(inverse_root_iterates(squares, 40)[-1], squares.rsqrt())
    assert inverse_root_iterates(torch.tensor(3.0).double(), 5)[-1] == 0
