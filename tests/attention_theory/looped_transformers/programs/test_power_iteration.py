import pytest
import torch

from attention_theory.looped_transformers.fleq.language import interpret, variable
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.programs.power_iteration import (
    distance_bounds,
    inverse_root_iterates,
    listing_beside,
    power_error_bound,
    power_iterates,
    power_program,
    sign_free_distance,
)
from attention_theory.randomness import normal
from attention_theory.validation import ParameterError


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


def test_the_bound_holds_for_the_machine_and_grows_as_the_square_shrinks() -> None:
    matrix = torch.diag(torch.tensor([1.0, 0.3, 0.1], dtype=torch.float64))
    program = power_program(matrix, 4)
    run, exact = FleqMachine(program).run(program), interpret(program)
    off = (variable(program, run.memory, "b") - variable(program, exact.memory, "b"))[:, 0].norm()
    assert off <= power_error_bound(matrix, 4, 1e-7) < 1e-3
    assert power_error_bound(matrix, 12, 1e-7) > power_error_bound(matrix, 4, 1e-7)
    start = torch.cat([torch.ones(3, 1, dtype=torch.float64), normal(3, 2, seed=1)], dim=1)
    basis = torch.linalg.qr(start)[0]
    hidden = basis @ torch.diag(torch.tensor([0.1, 1.0, 0.2], dtype=torch.float64)) @ basis.mT
    assert power_error_bound(hidden, 8, 1e-7, 80) == torch.inf
    with pytest.raises(ParameterError, match="slope"):
        power_error_bound(matrix, 4, 0.0)


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
    with pytest.raises(ParameterError, match="steps"):
        distance_bounds(plane, 0)


def test_the_listing_stands_beside_its_repair() -> None:
    differing = [row for row in listing_beside() if row[0] != row[1]]
    assert differing == [("        t = add(t1, one)", "        t1 = add(t1, one)"), ("", "        b = transpose(b)")]
