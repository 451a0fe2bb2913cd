"""The programs that come with the compiler give what Python gives, on the machine's interpreter and the transformer."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

import attention_theory as at
from attention_theory.looped_transformers.compiler import examples
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
    (examples.queens, [[0] * 6], 10),
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
def test_examples_in_the_language_of_the_machine(
    function: Callable[..., Any], inputs: list[Any], bits: int, optimise: bool
) -> None:
    program = at.compile(function, inputs, bits, optimise=optimise)
    given = copy.deepcopy(inputs)
    assert (program.interpret(*given, steps=500_000), given) == of_python(function, inputs)


@pytest.mark.parametrize("function", [examples.gcd, examples.binary_search, examples.matrix_product])
def test_examples_on_the_transformer(function: Callable[..., Any]) -> None:
    inputs = next(given for one, given, _ in CASES if one is function)
    assert at.compile(function, inputs).run(*inputs) == of_python(function, inputs)[0]


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
