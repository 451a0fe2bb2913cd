import pytest
import sympy
import torch

from attention_theory.certificates import symbolic
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.validation import ParameterError


def test_code_on_polynomials_is_the_code_on_numbers_at_every_point() -> None:
    shapes = {"x": (3, 2), "c": (2, 2), "w": (2, 1)}
    outputs = linear_attention(*symbolic.variables(**shapes).values())
    draw = torch.Generator().manual_seed(0)
    numbers = {name: torch.randint(-5, 6, shape, generator=draw).double() for name, shape in shapes.items()}
    point = [entry for tensor in numbers.values() for entry in tensor.flatten().int().tolist()]
    at_point = [
        entry.evaluate(list(zip(entry.ring.gens, point, strict=True))) for entry in symbolic.entries(outputs).flat
    ]
    seen = torch.tensor([int(number) for number in at_point])
    assert torch.equal(seen.double(), linear_attention(*numbers.values())[:, 0])


def test_a_difference_comes_with_a_point_at_which_the_code_shows_it() -> None:
    a, b = symbolic.variables(a=2, b=2).values()
    assert symbolic.equal(a * b, b * a, "").outcome == "proved"
    answer = symbolic.equal(a * a, a * b, "")
    assert answer.outcome == "refuted"
    assert answer.counterexample is not None
    first, second = symbolic.at(answer.counterexample, a=2, b=2).values()
    assert not torch.equal(first * first, first * second)


def test_floats_are_the_fractions_that_they_are() -> None:
    a = symbolic.variables(a=1)["a"]
    tenth = torch.tensor([0.1], dtype=torch.float64)
    assert symbolic.equal(a * tenth, tenth * a, "").outcome == "proved"
    assert symbolic.equal(10 * (a * tenth), a, "").outcome == "refuted"  # the float 0.1 is not a tenth


def test_moves_keep_their_entries() -> None:
    a = symbolic.variables(a=(2, 3))["a"]
    first, second = a.unbind(0)
    assert symbolic.equal(torch.stack([first, second]).mT, a.transpose(0, 1), "").outcome == "proved"
    assert symbolic.equal(a.flatten()[[5]], a[1, 2][None], "").outcome == "proved"
    assert symbolic.equal(a.flatten()[[5]], a[0, 2][None], "").outcome == "refuted"


def test_a_formula_is_that_of_the_branch_that_the_code_took() -> None:
    x, y = sympy.symbols("x y", positive=True)

    def branches(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return torch.linalg.vector_norm(torch.stack([first, second])) if first == 2 else first

    assert symbolic.trace(branches, [(2.0, x), (1.0, y)]).item() == sympy.sqrt(x**2 + y**2)
    assert symbolic.trace(branches, [(1.0, x), (1.0, y)]).item() == x


def test_derivatives_are_those_of_the_code() -> None:
    a, b = symbolic.variables(a=2, b=2).values()
    assert symbolic.equal(symbolic.derivative((a * a * b).sum(), a), 2 * a * b, "").outcome == "proved"


def test_other_functions_are_refused() -> None:
    with pytest.raises(ParameterError, match="got exp"):
        symbolic.variables(a=2)["a"].exp()
