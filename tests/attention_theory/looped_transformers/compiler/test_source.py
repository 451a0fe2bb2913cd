"""What the compiler refuses, with its line, and what it takes."""

import json
from pathlib import Path
from typing import Any

import pytest

import attention_theory as at
from attention_theory.looped_transformers.compiler.names import CompileError
from attention_theory.looped_transformers.compiler.program import NotEnded, Target
from attention_theory.validation import ParameterError

#: Sources, some with the words in which they are refused; the browser reads the same list.
SOURCES = json.loads((Path(__file__).parents[3] / "python_sources.json").read_text(encoding="utf-8"))
LONG = [
    ("(" * 5000, "line 1"),
    ("x = " + "-" * 20_000 + "1", "line 1"),
    ("#" + "x" * 200_000, "at most 100000"),
    ("x = " + "9" * 90_000, "line 1"),
    ("x = 1\ny = 0x" + "f" * 9_000, "line 2: a number of more than 20 digits does not fit"),
    ("x = 1\ny = '\ud800'", "line 2: this is no text"),  # which a browser does not give
    ("x = " + "+".join(["1"] * 40_000), "line 1"),
    ("".join(" " * depth + "if 1:\n" for depth in range(150)) + " " * 150 + "x = 1", "line 10"),
]


@pytest.mark.parametrize(("source", "message"), [*LONG, *(one for one in SOURCES if isinstance(one, list))])
def test_what_is_outside_the_subset_is_refused_with_its_line(source: str, message: str) -> None:
    with pytest.raises(CompileError, match=message.replace("(", r"\(")):
        at.compile(source)


@pytest.mark.parametrize("example", [[1.5], ["ab"], [[[1]]], [None]])
def test_an_example_of_other_values_is_refused(example: Any) -> None:
    with pytest.raises(CompileError, match="line 1: 'a' is an integer or a list of integers, got"):
        at.compile("def f(a):\n    return 1", example)


def test_a_source_that_grows_too_long_is_refused() -> None:
    twice = "\n".join(f"def f{n + 1}(a):\n    return f{n}(a) + f{n}(a)" for n in range(20))
    with pytest.raises(CompileError, match="longer than 4000 instructions"):
        at.compile(f"def f0(a):\n    return a\n{twice}")


@pytest.mark.parametrize(
    ("source", "inputs", "value"),
    [
        ("a = 48\nb = 36\nwhile b:\n    a, b = b, a % b", [], {"a": 12, "b": 0}),
        ("N = 3\ndef f(x):\n    'Three times.'\n    return N * x", [5], 15),
        ("def f(zero, t_1):\n    return zero - t_1", [5, 3], 2),
        ("def f(junk, error):\n    error = junk + error\n    return error", [5, 2], 7),
        ("def f(größe):\n    µ = größe + 1\n    return µ", [5], 6),
        (
            "def f_x(y):\n    y = y + 1\n    return y\n\ndef f(x_y):\n    x_y = 1 + f_x(x_y)\n    return x_y + f_x(1)",
            [1],
            5,
        ),
        ("def f(x: int) -> int:\n    y: int = x\n    return y", [5], 5),
        ("def f():\n    return True", [], 1),
        ("def f(a):\n    return +a", [-128], -128),
        ("def f(a):\n    return -a", [-128], -128),
        ("def f(a):\n    while True:\n        a += 1\n        if a > 9:\n            return a", [5], 10),
    ],
)
@pytest.mark.parametrize("target", ["subleq", "fleq"])
def test_what_is_inside(source: str, inputs: list[int], value: object, target: Target) -> None:
    assert at.compile(source, target=target).run(*inputs) == value


def helper(xs: list[int]) -> None:
    """Make every item positive."""
    for i in range(len(xs)):
        if xs[i] < 0:
            xs[i] = -xs[i]


def largest(xs: list[int]) -> int:
    """The largest size of an item."""
    helper(xs)
    best = 0
    for x in xs:
        best = x if x > best else best
    return best


def test_a_function_brings_the_functions_that_it_calls_and_changes_its_list() -> None:
    xs = [3, -9, 5]
    assert at.compile(largest, [xs]).run(xs) == 9
    assert xs == [3, 9, 5]


def test_a_list_is_returned() -> None:
    program = at.compile("def f(n):\n    xs = [n] * 3\n    xs[1] += 1\n    return xs")
    assert program.run(4) == [4, 5, 4]


@pytest.mark.parametrize(
    ("source", "inputs", "error", "line"),
    [
        ("def f(a):\n    return 5 // a", [0], ZeroDivisionError, "line 2"),
        ("def f(a):\n    return 5 % a", [0], ZeroDivisionError, "line 2"),
        ("def f(a):\n    assert a > 1\n    return a", [1], AssertionError, "line 2"),
        ("def f(a):\n    xs = [1, 2]\n    return xs[a]", [2], IndexError, "line 3"),
        ("def f(a):\n    xs = [1, 2]\n    xs[a] = 1\n    return 0", [-3], IndexError, "line 3"),
        ("def f(a):\n    xs = [1, 2]\n    return xs[2]", [0], IndexError, "line 3"),
        ("def f(a):\n    xs = [1, 2]\n    b = xs[--11]\n    return a", [0], IndexError, "line 3"),
    ],
)
@pytest.mark.parametrize("target", ["subleq", "fleq"])
def test_errors_are_those_of_python(
    source: str, inputs: list[int], error: type[Exception], line: str, target: Target
) -> None:
    with pytest.raises(error, match=line):
        at.compile(source, target=target).run(*inputs)


@pytest.mark.parametrize("target", ["subleq", "fleq"])
def test_a_program_without_end_is_stopped(target: Target) -> None:
    with pytest.raises(NotEnded, match="did not end within 50 passes"):
        at.compile("while 1:\n    pass", target=target).run(steps=50)


def test_many_loops_and_many_variables_are_compiled() -> None:
    loops = "    for i in range(a): a = a * i\n" * 100
    assert at.compile(f"def f(a):\n{loops}    return a").steps(1) > 100
    sums = "\n".join(f"a{place} = a{place - 1} + a{place // 2}" for place in range(1, 300))
    assert len(at.compile(f"a0 = 1\n{sums}", target="fleq").cells) == 300


@pytest.mark.parametrize("inputs", [[1], [1, 2], [1, [1]], [[1, 2], 1], [1, [1, 200]], [128, [1, 2]], [1.0, [1, 2]]])
def test_arguments_that_do_not_fit_are_refused(inputs: list[object]) -> None:
    with pytest.raises(ParameterError, match="inputs must"):
        at.compile("def f(a, xs):\n    return a", [1, [1, 2]]).run(*inputs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"bits": 3},
        {"bits": 63},
        {"num_layers": 5},
        {"target": "c"},
        {"target": "fleq", "bits": 21},
        {"target": "fleq", "num_layers": 10},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="must be"):
        at.compile("x = 1", **options)


@pytest.mark.parametrize("target", ["subleq", "fleq"])
def test_the_source_map_leads_back_to_the_lines(target: Target) -> None:
    program = at.compile("def f(a):\n    b = a + 1\n    return b * b", target=target)
    assert set(program.source_map) == {0, 2, 3}
    assert len(program.source_map) == len(program.program.code)
    assert set(program.cells) <= {"a", "b"}
