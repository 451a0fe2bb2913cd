"""Ranges are read from ``require`` and worded one way."""

import ast
from pathlib import Path

import pytest

from bookpress.notebooks.ranges import is_simple, rules_of, value_of

DEFAULTS = {"n": 3, "width": 24, "rate": 0.1, "names": ["a"], "device": "cpu"}


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("n=(n, 1, None)", "at least 1"),
        ("n=(n, None, 10**6)", "at most 10 ** 6"),
        ("rate=(rate, 1e-3, 1.0)", "from 0.001 to 1.0"),
        ("n=(n, 2, 2 * width - 1)", "from 2 to 2 * width - 1"),
        ("width=(width, range(2 * n, 8193, 2 * n))", "one of range(2 * n, 8193, 2 * n)"),
        ("n=(n, {16, 8, 128})", "one of {16, 8, 128}"),
        ('names=(Each(names), ("a", "b"))', "each one of ('a', 'b')"),
    ],
)
def test_a_rule_is_worded_in_one_way(rule: str, text: str) -> None:
    (found,) = rules_of(f"require({rule})", DEFAULTS).values()
    assert found.text == text


@pytest.mark.parametrize(
    "rule", ["product=(n * width, 1, None)", "n=(width, 1, None)", "n=(n, 1 if width else 0, None)", "n=(n, library())"]
)
def test_what_is_no_range_of_one_parameter_is_not_told_as_one(rule: str) -> None:
    assert rules_of(f"require({rule})", DEFAULTS) == {}


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("2 * n + 1", True),
        ("min(n, len(names))", True),
        ("{'a', 'b'}", True),
        ("m + 1", False),
        ("n.real", False),
        ("n @ n", False),
        ("[one for one in names]", False),
        ("open('x')", False),
        ("n(1)", False),
        ("len(names, *names)", False),
    ],
)
def test_only_arithmetic_of_known_names_is_simple(text: str, simple: bool) -> None:
    assert is_simple(text, DEFAULTS) is simple


def test_the_value_of_arithmetic() -> None:
    assert value_of("max(n, len(names)) ** 2 - -1", DEFAULTS) == 10
    assert value_of("[width // 5, 1 / 2]", DEFAULTS) == [4, 0.5]
    assert value_of("range(2, width, n)", DEFAULTS) == range(2, 24, 3)


@pytest.mark.parametrize("text", ["9**9**9", "2 ** 10**9", "(2**4000) * (2**4000)", "1 / 0", "10.0 ** 400"])
def test_no_number_takes_long_to_compute(text: str) -> None:
    with pytest.raises(ArithmeticError):
        value_of(text, DEFAULTS)
    assert rules_of(f"require(n=(n, 1, {text}))", DEFAULTS)["n"].text == f"from 1 to {ast.unparse(ast.parse(text))}"


@pytest.mark.parametrize("text", ["names * 10**9", "'a' * 10**9", "n + names", "len(n)"])
def test_arithmetic_is_of_numbers_alone(text: str) -> None:
    with pytest.raises(ValueError, match="no arithmetic"):
        value_of(text, DEFAULTS)


def test_reading_a_range_runs_none_of_it(tmp_path: Path) -> None:
    program = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]"
    program += f".__init__.__globals__['system']('touch {tmp_path / 'made'}')"
    assert rules_of(f"require(n=(n, 1, {program}))", DEFAULTS) == {}
    with pytest.raises(ValueError, match="no arithmetic"):
        value_of(program, DEFAULTS)
    assert not (tmp_path / "made").exists()
