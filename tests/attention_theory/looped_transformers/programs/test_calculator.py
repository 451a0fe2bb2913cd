import math

import torch

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
    whole_range_sums,
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


def test_the_sums_for_whole_ranges_have_no_more_terms_than_heads() -> None:
    for terms in (25, 36, 100):
        reciprocal, root = whole_range_sums(terms)
        assert max(reciprocal.terms, root.terms) <= terms
        least, most = 1.5 / math.sqrt(terms / 2), math.exp(terms / 2)
        x = torch.logspace(math.log(least), math.log(most), 3000, base=math.e, dtype=torch.float64)
        x = x.clamp(least, most * (1 - 1e-9))
        for sign in (1, -1):
            assert (reciprocal(sign * x) - sign / x).abs().max() <= least
        y = torch.linspace(0, terms**2, 3000, dtype=torch.float64)
        assert (root(y) - y.sqrt()).abs().max() <= 1 / terms
