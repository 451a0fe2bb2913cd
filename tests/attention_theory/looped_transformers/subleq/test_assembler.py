import math

import pytest
import torch

from attention_theory.looped_transformers.machine.listing import AssemblyError
from attention_theory.looped_transformers.subleq.assembler import assemble, library, library_text
from attention_theory.looped_transformers.subleq.language import SubleqProgram, interpret
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError


def result(name: str, cell: str, count: int = 1, bits: int = 10, **values: int | list[int]) -> list[int]:
    source = assemble(library_text(name), bits).with_inputs(values)
    run = interpret(source, bits, 5000)
    assert run.halted
    first = source.cells[cell]
    return run.memories[-1, first : first + count].tolist()


def test_a_small_program_by_hand() -> None:
    source = assemble(
        "x = 3\nlist = 4 5\n# a comment\nloop: x -= list[1] if <= 0 goto end  # another\n goto loop\nend: halt"
    )
    assert source == SubleqProgram((0, -1, 3, 4, 5), ((4, 2, 2), (0, 0, 0), (0, 1, 2)), source.cells, source.labels)
    assert source.cells == {"zero": 0, "minus_one": 1, "x": 2, "list": 3}
    assert source.labels == {"loop": 0, "end": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nx -= x if <= 0 goto lop\nloop: halt", "line 2: unknown label 'lop'; did you mean 'loop'?"),
        ("total = 1\ntotl -= total\nhalt", "line 2: unknown cell 'totl'; did you mean 'total'?"),
        ("x = 1\nx -= mem[3]\nhalt", "line 2: address 'mem\\[3\\]' is out of range"),
        ("x = 1\n\ny = 128\nhalt", "line 3: 128 is out of range: 8 bits hold -127 to 127"),
        ("x = 1\nminus_one -= x\nhalt", "line 2: cell 'minus_one' is reserved"),
        ("x = 1 2 3 4 5\nx -= x\nhalt", "10 columns are too many for 3 address bits, which distinguish 8; use 4"),
    ],
)
def test_faults_that_the_browser_does_not_find_are_refused_with_their_line(text: str, message: str) -> None:
    with pytest.raises(AssemblyError, match=message):
        assemble(text, bits=8, address_bits=3)


def test_the_library_computes_what_it_says() -> None:
    assert len(library()) == 8
    assert result("multiply", "product", x=-6, y=11) == [-66]
    assert result("factorial", "result", n=5, bits=12) == [math.factorial(5)]
    assert result("fibonacci", "a", n=12) == [144]
    for x in (0, 1, 3, 4, 24, 25, 99):
        assert result("square_root", "root", x=x) == [math.isqrt(x)]
        assert result("divide", "quotient", x=x, y=7) + result("divide", "remainder", x=x, y=7) == list(divmod(x, 7))
    values = [3, -7, 3, 20, 0, -1]
    assert result("reverse", "list", 6, list=values) == values[::-1]
    for wanted in (3, -1, 20, 5):
        assert result("linear_search", "place", list=values, wanted=wanted) == [
            values.index(wanted) if wanted in values else -1
        ]
    for order in torch.randint(-50, 50, (20, 4), generator=generator(0)).tolist():
        assert result("bubble_sort", "list", 4, list=order) == sorted(order)


def test_inputs_must_fit_the_program() -> None:
    with pytest.raises(ParameterError, match=r"each of inputs must be one of .*'product'.*, got 'nobody'"):
        assemble(library_text("multiply")).with_inputs({"nobody": 1})
    with pytest.raises(ParameterError, match=r"one integer for each of the \d cells of 'list', got 2"):
        assemble(library_text("reverse")).with_inputs({"list": [1, 2]})
