"""Programs mean what they mean in Python: the intermediate form, both targets and transformers against CPython."""

from collections.abc import Callable
from itertools import product
from typing import Any, get_args

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import python_programs as python
from attention_theory.looped_transformers.blocks._integers import integer_blocks
from attention_theory.looped_transformers.compiler.code import interpret
from attention_theory.looped_transformers.compiler.program import CompiledProgram, Target
from attention_theory.looped_transformers.compiler.program import compile as compiled
from attention_theory.looped_transformers.fleq.language import interpret as interpret_fleq

BITS, STEPS = 8, 300_000


def by_code(program: CompiledProgram, inputs: list[Any]) -> python.Ended:
    """The run of the intermediate form."""
    named = dict(zip(program.code.inputs, inputs, strict=True))
    ended = interpret(program.code, program.bits, named, STEPS)
    assert ended.stop is not None
    error = f"{ended.stop.error}: line {ended.stop.line}" if ended.stop.error else ""
    arguments = [ended.blocks[name] if name in ended.blocks else named[name] for name in program.code.inputs]
    return python.Ended(None if error else ended.cells[str(program.code.result)], arguments, error)


def by_method(name: str) -> Any:
    """The run of the lowered program, on its interpreter or its transformer."""

    def run(program: CompiledProgram, inputs: list[Any]) -> python.Ended:
        given = [list(one) if isinstance(one, list) else one for one in inputs]
        try:
            value = getattr(program, name)(*given, steps=STEPS)
        except (AssertionError, IndexError, ZeroDivisionError) as error:
            return python.Ended(None, given, f"{type(error).__name__}: {error}")
        return python.Ended(value, given)

    return run


def agree(source: str, inputs: list[Any], ways: list[Any], bits: int = BITS) -> None:
    """All ways to run a source, optimised or not, give what CPython gives."""
    wanted = python.run(source, "program", inputs, bits)
    for optimise, target in product((True, False), get_args(Target)):
        program = compiled(source, inputs, bits, optimise=optimise, target=target)
        for way in ways:
            ended = way(program, inputs)
            assert ended.error == wanted.error
            if not wanted.error:
                assert (ended.value, ended.arguments) == (wanted.value, wanted.arguments)


inputs = st.tuples(
    python.numbers(BITS), python.numbers(BITS), st.lists(python.numbers(BITS), min_size=3, max_size=3)
).map(list)


def step_by_step(source: str, inputs: list[Any]) -> None:
    """Counter, memory and pointers of FLEQ are equal after every pass, without a rounding error."""
    program = compiled(source, inputs, BITS, target="fleq")
    loaded, functions = program.loaded(*inputs), {block.name: block.reference for block in integer_blocks(BITS)}
    run, wanted = program.transformer.machine.run(loaded, 400), interpret_fleq(loaded, 400, functions)
    assert run.counters == wanted.counters
    assert all(map(torch.equal, run.pointers, wanted.pointers))
    deviations = [(ours - theirs).abs().max() for ours, theirs in zip(run.memories, wanted.memories, strict=True)]
    assert max(deviations, default=0.0) < 1e-25


@pytest.mark.parametrize("num_layers", [4, 6, 10])
def test_every_layer_in_full_gives_the_same(num_layers: Any) -> None:
    program = compiled("def least(a, b):\n    return a if a < b else b", num_layers=num_layers)
    assert program.run(5, -128, literal=True) == program.run(5, -128) == -128


def test_every_layer_in_full_gives_the_same_with_blocks() -> None:
    program = compiled("def item(xs, n):\n    return xs[n % 3] // xs[-n]", [[1, 2, 3], 1], target="fleq")
    assert program.run([5, -128, -3], 1, literal=True) == program.run([5, -128, -3], 1) == 42


def on_random_programs(check: Callable[[str, list[Any]], None], examples: int) -> None:
    """Check so many programs, the same at every run."""
    chosen = settings(max_examples=examples, derandomize=True, suppress_health_check=list(HealthCheck))
    chosen(given(python.programs(BITS), inputs)(check))()


@pytest.mark.parametrize("examples", [200, pytest.param(5000, marks=pytest.mark.exhaustive)])
def test_programs_mean_what_they_mean_in_python(examples: int) -> None:
    on_random_programs(lambda source, inputs: agree(source, inputs, [by_code, by_method("interpret")]), examples)


def test_transformers_run_what_python_means() -> None:
    on_random_programs(lambda source, inputs: agree(source, inputs, [by_method("run")]), 5)


@pytest.mark.parametrize("examples", [8, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_every_step_of_the_transformer_is_the_interpreters(examples: int) -> None:
    on_random_programs(step_by_step, examples)
