"""The programs that come with the compiler give what Python gives, on the machine's interpreter and the transformer."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

import attention_theory as at
from attention_theory.looped_transformers.blocks._integers import integer_blocks
from attention_theory.looped_transformers.compiler import examples
from attention_theory.looped_transformers.compiler.program import Target
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.nn import FleqTransformer
from attention_theory.randomness import generator

Case = tuple[Callable[..., Any], list[Any], int]

UP = [[-9, -4, 0, 3, 5, 8, 90, 127], 90]
CODE = [3, 3, 3, 5, 1, 3, 3, 2, 4, 6, 0]  # +++[>++<-]

CASES: list[Case] = [
    (examples.gcd, [-84, 35], 8),
    (examples.bubble_sort, [[5, 3, 9, -128, 4, 127, 2, 1]], 8),
    (examples.insertion_sort, [[5, 3, 9, -128, 4, 127, 2, 1]], 8),
    (examples.primes, [[0] * 30], 8),
    (examples.binary_search, UP, 8),
    (examples.binary_search, [UP[0], 91], 8),
    (examples.matrix_product, [[1, 2, -3, 4], [5, 6, -7, 8]], 8),
    (examples.collatz, [27], 16),
    (examples.queens, [[0] * 6], 8),
    (examples.life, [[0] * 7 + [1, 1, 1] + [0] * 26], 8),
    (examples.tape_machine, [CODE, [0, 0, 0]], 8),
]


def of_python(function: Callable[..., Any], inputs: list[Any]) -> tuple[Any, list[Any]]:
    """What Python returns, truth values as numbers, and the arguments as they are then."""
    given = copy.deepcopy(inputs)
    value = function(*given)
    return [int(one) for one in value] if isinstance(value, list) else int(value), given


@pytest.mark.parametrize(("function", "inputs", "bits"), CASES)
@pytest.mark.parametrize("optimise", [True, False])
@pytest.mark.parametrize("target", ["subleq", "fleq"])
def test_examples_in_the_language_of_the_machine(
    function: Callable[..., Any], inputs: list[Any], bits: int, optimise: bool, target: Target
) -> None:
    program = at.compile(function, inputs, bits, optimise=optimise, target=target)
    given = copy.deepcopy(inputs)
    assert (program.interpret(*given, steps=500_000), given) == of_python(function, inputs)


@pytest.mark.parametrize("function", [examples.gcd, examples.binary_search, examples.matrix_product])
def test_examples_on_the_transformer_that_subtracts(function: Callable[..., Any]) -> None:
    inputs = next(given for one, given, _ in CASES if one is function)
    assert at.compile(function, inputs).run(*inputs) == of_python(function, inputs)[0]


@pytest.mark.parametrize(
    ("function", "inputs", "bits"),
    [
        case
        if case[0] in (examples.gcd, examples.binary_search, examples.matrix_product)
        else pytest.param(*case, marks=pytest.mark.exhaustive)
        for case in CASES
    ],
)
def test_examples_on_the_transformer_with_blocks(function: Callable[..., Any], inputs: list[Any], bits: int) -> None:
    given = copy.deepcopy(inputs)
    assert (at.compile(function, inputs, bits, target="fleq").run(*given), given) == of_python(function, inputs)


def test_blocks_and_pointers_save_instructions_and_passes() -> None:
    for function, inputs, bits in CASES:
        subleq, fleq = (at.compile(function, inputs, bits, target=target) for target in ("subleq", "fleq"))
        assert 3 * len(fleq.program.code) < len(subleq.program.code)
        assert 2 * fleq.steps(*inputs) < subleq.steps(*inputs)


def test_one_transformer_with_blocks_runs_all_programs() -> None:
    programs = [at.compile(function, inputs, target="fleq") for function, inputs, bits in CASES if bits == 8]
    cells, instructions = (
        max(sizes)
        for sizes in zip(*[(len(one.program.memory), len(one.program.code)) for one in programs], strict=True)
    )
    transformer = FleqTransformer(
        programs[0].program.padded(cells, instructions), blocks=integer_blocks(8), pointers=True
    )
    for program, (_, inputs, _) in zip(programs, [case for case in CASES if case[2] == 8], strict=True):
        loaded = program.loaded(*inputs)
        run = transformer.machine.run(loaded.padded(cells, instructions), 10)
        wanted = interpret(loaded, 10, {block.name: block.reference for block in integer_blocks(8)})
        count = len(loaded.memory)
        for ours, theirs in zip(run.memories, wanted.memories, strict=True):
            assert torch.allclose(ours[:count], theirs, rtol=0, atol=1e-25)


def test_the_optimiser_saves_instructions_and_passes() -> None:
    saved = []
    for function, inputs, bits in CASES[1:5]:
        short, long = (at.compile(function, inputs, bits, optimise=optimise) for optimise in (True, False))
        assert short.steps(*inputs) < long.steps(*inputs)
        saved.append(1 - len(short.program.code) / len(long.program.code))
    assert max(saved) > 0.3


def test_random_boards_of_life() -> None:
    program = at.compile(examples.life, [[0] * 36])
    for board in (torch.rand(2, 36, generator=generator(0)) < 0.35).long().tolist():
        assert program.interpret(board) == of_python(examples.life, [board])[0]
