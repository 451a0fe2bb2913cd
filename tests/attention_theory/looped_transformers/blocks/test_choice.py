import pytest
import torch
from torch import Tensor

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.choice import ChoiceBlock
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError


def block(functions: int = 3, terms: int = 5, width: int = 4) -> ChoiceBlock:
    draw = generator(0)
    return ChoiceBlock(
        "choose",
        normal(functions, terms, width, seed=draw),
        normal(functions, terms, seed=draw),
        normal(functions, terms, seed=draw),
    )


def operands(chosen: list[float]) -> tuple[Tensor, Tensor]:
    a, b = torch.zeros(2, 6, 4, 4, dtype=torch.float64)
    a[:, :, 0] = normal(6, 4, seed=1)
    b[:, : len(chosen), 0] = torch.tensor(chosen, dtype=torch.float64)
    return a, b


def test_the_selector_chooses_the_function() -> None:
    choice = block()
    for number in range(3):
        a, b = operands([float(number == place) for place in range(3)])
        slow = [
            sum(
                choice.c[number, term] * (choice.a[number, term] @ x + choice.b[number, term]).sigmoid()
                for term in range(5)
            )
            for x in a[:, :, 0]
        ]
        run = run_block(choice, a, b, spare=5)
        assert (run.result[:, 0, 0] - torch.stack([torch.as_tensor(one) for one in slow])).abs().max() < 1e-13
        assert run.result[:, 1:].abs().max() == 0
        assert run.result[:, :, 1:].abs().max() < 1e-30
        assert (run.result - choice.reference(a, b)).abs().max() < 1e-13
    sizes = summarise(run.machine)
    assert (sizes.layers, sizes.heads) == (3, 5)


def test_more_functions_than_a_column_holds_are_refused() -> None:
    a, b = operands([1.0])
    with pytest.raises(ParameterError, match="functions"):
        run_block(block(functions=5), a, b)
    with pytest.raises(ParameterError, match="entries of a vector"):
        run_block(block(width=5), a, b)


@pytest.mark.parametrize(("functions", "width"), [(1, 1), (4, 4)])
def test_one_to_as_many_functions_as_a_column_has_entries(functions: int, width: int) -> None:
    choice = block(functions=functions, width=width)
    a, b = operands([float(place == functions - 1) for place in range(functions)])
    a[:, width:] = 0
    assert (run_block(choice, a, b).result - choice.reference(a, b)).abs().max() < 1e-13
