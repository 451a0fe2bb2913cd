import math

from attention_theory.looped_transformers.blocks.approximation import reciprocal_partition
from attention_theory.looped_transformers.fleq.language import FUNCTIONS, interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.programs.calculator import (
    calculator_blocks,
    calculator_program,
    calculator_sums,
    exact_trace,
    finest_reciprocal,
    first_entries,
)


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


def test_the_finest_reciprocal_takes_the_terms_there_are() -> None:
    for terms in (8, 64):
        error = finest_reciprocal(terms, 0.3, 8.0)
        assert reciprocal_partition(error, 0.3, 8.0).intervals == terms
        assert reciprocal_partition(error * (1 - 1e-5), 0.3, 8.0).intervals > terms
