"""Programs mean what they mean in Python: the intermediate form, both targets and transformers against CPython."""

from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import python_programs as python
from attention_theory.looped_transformers.blocks._integers import integer_blocks
from attention_theory.looped_transformers.compiler.code import interpret
from attention_theory.looped_transformers.compiler.program import CompiledProgram, Target
from attention_theory.looped_transformers.compiler.program import compile as compiled
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.fleq.language import interpret as interpret_fleq
from attention_theory.looped_transformers.fleq.machine import compare
from attention_theory.looped_transformers.fleq.transformer import FleqTransformer
from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.looped_transformers.subleq.language import interpret as interpret_subleq
from attention_theory.looped_transformers.subleq.transformer import SubleqTransformer

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


def agree(source: str, inputs: list[Any], ways: list[Any]) -> dict[tuple[bool, str], CompiledProgram]:
    """All ways to run a source, optimised or not, give what CPython gives; the programs."""
    wanted = python.run(source, "program", inputs, BITS)
    made = {
        (optimise, target): compiled(source, inputs, BITS, optimise=optimise, target=target)
        for optimise, target in product((True, False), get_args(Target))
    }
    for program in made.values():
        for way in ways:
            ended = way(program, inputs)
            assert ended.error == wanted.error
            if not wanted.error:
                assert (ended.value, ended.arguments) == (wanted.value, wanted.arguments)
    return made


inputs = st.tuples(
    python.numbers(BITS), python.numbers(BITS), st.lists(python.numbers(BITS), min_size=3, max_size=3)
).map(list)


@pytest.mark.parametrize("num_layers", [4, 6, 10])
def test_every_layer_in_full_gives_the_same(num_layers: Any) -> None:
    program = compiled("def least(a, b):\n    return a if a < b else b", num_layers=num_layers)
    assert program.run(5, -128, literal=True) == program.run(5, -128) == -128


def test_every_layer_in_full_gives_the_same_with_blocks() -> None:
    program = compiled("def item(xs, n):\n    return xs[n % 3] // xs[-n]", [[1, 2, 3], 1], target="fleq")
    assert program.run([5, -128, -3], 1, literal=True) == program.run([5, -128, -3], 1) == 42


def drawn(examples: int, part: int) -> list[tuple[str, list[Any]]]:
    """So many random programs with their arguments, the same at every run; others in another part."""
    found: list[tuple[str, list[Any]]] = []
    options: dict[str, Any] = {"database": None, "deadline": None, "phases": [Phase.generate]}
    once = settings(max_examples=examples, suppress_health_check=list(HealthCheck), **options)
    once(seed(part)(given(python.programs(BITS), inputs)(lambda source, given: found.append((source, given)))))()
    return found


def batches(programs: list[Any], size: int = 40) -> Iterator[list[Any]]:
    """Programs in their order, those of a batch padded to one shape."""
    for first in range(0, len(programs), size):
        batch = programs[first : first + size]
        cells, instructions = max(len(one.memory) for one in batch), max(len(one.code) for one in batch)
        yield [one.padded(cells, instructions) for one in batch]


def follow_subleq(programs: list[SubleqProgram], passes: int = 200) -> None:
    """Counter and memory are the interpreter's after each of so many passes."""
    programs.sort(key=lambda one: (len(one.code) // 64, len(interpret_subleq(one, BITS, passes))))
    for batch in batches(programs):
        result = conformance(SubleqTransformer(batch[0], BITS, 4).machine, batch, passes)
        assert result.wrong == 0


def follow_fleq(programs: list[FleqProgram], passes: int = 20) -> None:
    """Counter, memory and pointers are the interpreter's after each of so many passes, without a rounding error."""
    blocks = integer_blocks(BITS)
    functions = {block.name: block.reference for block in blocks}
    programs.sort(key=lambda one: len(one.code))
    for batch in batches(programs):
        machine = FleqTransformer(batch[0], blocks=blocks, gate=2.0 ** (BITS + 2), pointers=True).machine
        for program, run in zip(batch, machine.run_many(batch, passes), strict=True):
            result = compare(run, interpret_fleq(program, passes, functions))
            assert result.counters_agree
            assert result.pointers_agree
            assert result.deviation < 1e-25


@pytest.mark.usefixtures("unchecked_shapes")  # which take most of the time
@pytest.mark.parametrize(
    ("examples", "part"), [(200, 0), *(pytest.param(1000, part, marks=pytest.mark.exhaustive) for part in range(1, 6))]
)
def test_python_the_code_the_interpreters_and_the_transformers_agree(examples: int, part: int) -> None:
    """Programs give what Python gives, and the transformers of each, optimised or not by turns, are followed."""
    of_subleq, of_fleq = [], []
    for number, (source, inputs) in enumerate(drawn(examples, part)):
        made = agree(source, inputs, [by_code, by_method("interpret")])
        of_subleq.append(made[number % 2 == 0, "subleq"].loaded(*inputs))
        of_fleq.append(made[number % 2 == 0, "fleq"].loaded(*inputs))
    assert len(of_subleq) == examples
    follow_subleq(of_subleq)
    follow_fleq(of_fleq)
