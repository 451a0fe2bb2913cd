import torch

from attention_theory.looped_transformers.fleq.language import interpret, variable
from attention_theory.looped_transformers.programs.regression import sgd, sgd_program, unrolled_program
from attention_theory.randomness import normal


def test_descent_programs_equal_the_plain_descent() -> None:
    w, x, y = torch.zeros(4, dtype=torch.float64), normal(3, 4, seed=0), normal(3, seed=1)
    expected = sgd(w, x, y, 0.1, 4)[-1]
    for program in (sgd_program(w, x, y, 0.1, 4), unrolled_program(w, x, y, 0.1, 4)):
        assert torch.allclose(variable(program, interpret(program).memory, "w")[:, 0], expected, rtol=0, atol=1e-14)
    printed = sgd_program(w, x, y, 0.1, 4, {"counters": "printed"})
    run = interpret(printed)
    assert run.executed.count(printed.labels["update"]) == (3 + 1) * (4 + 1)
