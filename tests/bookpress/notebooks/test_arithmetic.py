"""Arithmetic of parameters."""

import ast

import pytest

from bookpress.notebooks.ranges import is_simple, value_of


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("2 * n + 1", True),
        ("min(n, len(sizes))", True),
        ("{'a', 'b'}", True),
        ("m + 1", False),
        ("n.real", False),
        ("[one for one in sizes]", False),
        ("open('x')", False),
    ],
)
def test_only_arithmetic_of_what_is_known(text: str, simple: bool) -> None:
    assert is_simple(ast.parse(text, mode="eval").body, ["n", "sizes"]) is simple


def test_the_value() -> None:
    assert value_of("max(n, len(sizes)) ** 2", {"n": 3, "sizes": [1]}) == 9
