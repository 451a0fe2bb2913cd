import torch

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.programs.newton import newton_program
from attention_theory.looped_transformers.programs.regression import sgd_program
from attention_theory.randomness import normal

MATRIX = torch.eye(4, dtype=torch.float64) + normal(4, 4, seed=0) / 6


def test_a_padded_program_does_the_same() -> None:
    program = newton_program(MATRIX, 3)
    short, long = interpret(program), interpret(program.padded(80, 20))
    assert long.halted
    assert long.counters[:-2] == short.counters[:-1]
    assert len(long.counters) == len(short.counters) + 1  # through the first idle instruction
    assert torch.equal(program.variable(long.memory, "x"), program.variable(short.memory, "x"))


def test_a_jump_to_the_halt_takes_no_longer() -> None:
    program = assemble("if zero <= 0 goto end\none = add(one, one)\nend: halt", {}, size=3)
    long = program.padded(12, 9)
    assert interpret(long).counters == [8]
    assert long.labels["end"] == long.halt == 8


def test_pointer_moves_keep_their_place() -> None:
    x = normal(2, 4, seed=1)
    program = sgd_program(x[0], x, x[:, 0], 0.1, 2)
    short, long = interpret(program), interpret(program.padded(200, 40))
    assert torch.equal(long.memory[: len(program.memory)], short.memory)
