import pytest
import torch

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.machine.listing import AssemblyError


def program(text: str, **variables: float | torch.Tensor) -> FleqProgram:
    return assemble(text, variables, size=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = add(x, nothing)\nhalt", "line 1: unknown variable 'nothing'"),
        ("\nx = cube(x)\nhalt", "line 2: unknown function 'cube'"),
        ("if x <= 0 goto nowhere\nhalt", "line 1: unknown label 'nowhere'"),
        ("a: x = add(x, x)\na: halt", "line 2: label 'a' is given twice"),
        ("x := 3\nhalt", "line 1: cannot read"),
        ("x = add(x, x) width 9\nhalt", "line 1: width must be from 1 to 3"),
        ("x = add(x, x)", "the last statement must be 'halt'"),
    ],
)
def test_bad_text_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(AssemblyError, match=message.replace("(", r"\(")):
        program(text, x=1.0)


def test_a_matrix_that_does_not_fit_is_refused() -> None:
    with pytest.raises(AssemblyError, match="variable 'x'"):
        program("halt", x=torch.ones(4, 1))


def test_comments_and_empty_lines_are_skipped() -> None:
    built = program("# nothing\n\n  x = add(x, x)  # twice\n halt", x=2.0)
    assert len(built.code) == 2
    assert built.labels == {}


def test_functions_beside_the_language_can_be_named() -> None:
    built = assemble("x = cube(x)\nhalt", {"x": 2.0}, 3, functions=["cube"])
    assert [getattr(one, "function", "") for one in built.code] == ["cube", "add"]
