import torch

from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.programs.regression import descent, sgd_program, unrolled_program
from attention_theory.randomness import normal


def test_descent_programs_equal_the_plain_descent() -> None:
    w, x, y = torch.zeros(4, dtype=torch.float64), normal(3, 4, seed=0), normal(3, seed=1)
    expected = descent(w, x, y, 0.1, 4)[-1]
    for program in (sgd_program(w, x, y, 0.1, 4), unrolled_program(w, x, y, 0.1, 4)):
        assert torch.allclose(program.variable(interpret(program).memory, "w")[:, 0], expected, rtol=0, atol=1e-14)
    printed = sgd_program(w, x, y, 0.1, 4, {"counters": "printed"})
    run = interpret(printed)
    assert run.executed.count(printed.labels["update"]) == (3 + 1) * (4 + 1)


def test_pointers_lead_the_machine_through_more_points_than_instructions() -> None:
    w, x, y = torch.zeros(3, dtype=torch.float64), normal(20, 3, seed=0), normal(20, seed=1)
    program = sgd_program(w, x, y, 0.05, 2)
    assert len(program.code) == 18 < len(x)
    reference = interpret(program)
    run = FleqMachine(program).run(program, len(reference.counters))
    result = compare(run, reference)
    assert result.counters_agree
    assert result.pointers_agree
    found = program.variable(run.memory, "w")[:, 0]
    assert torch.allclose(found, descent(w, x, y, 0.05, 2)[-1], rtol=0, atol=1e-5)
