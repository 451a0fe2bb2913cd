"""Which changes are made of a file, and which never."""

import ast
from pathlib import Path

import pytest

from bookpress.layout import Layout
from mutants import mutants_of
from mutation import equivalents


def changes(folder: Path, code: str) -> dict[str, set[str]]:
    """What becomes of a piece of code, by the kind of change."""
    (folder / "toy.py").write_text(code, encoding="utf-8")
    found: dict[str, set[str]] = {}
    for mutant in mutants_of(folder, "toy.py"):
        changed = mutant.applied(code.encode()).decode()
        ast.parse(changed)
        found.setdefault(mutant.kind, set()).add(changed)
    return found


@pytest.mark.parametrize(
    ("code", "kind", "expected"),
    [
        ("a < b", "comparison", {"a >= b", "a <= b"}),
        ("λ + 3", "constant", {"λ + 4"}),
        ("a @ b ** c", "arithmetic", {"a * b ** c", "a @ b * c"}),
        ("a and b or c", "condition", {"a or b or c", "a and b and c"}),
        ("not a", "condition", {"a"}),
        ("x = 1 if a else b", "condition", {"x = 1 if (not (a)) else b"}),
        ("def f() -> Float[Tensor, 'n']:\n    return a", "return", {"def f() -> Float[Tensor, 'n']:\n    return -(a)"}),
        ("f(\n    a\n)", "statement", {"pass"}),
        ("def f(a):\n    a = g(a)", "statement", {"def f(a):\n    pass"}),
        ("if a:\n    raise E('a')", "statement", {"if a:\n    pass"}),
    ],
)
def test_a_change_is_of_one_place(tmp_path: Path, code: str, kind: str, expected: set[str]) -> None:
    assert changes(tmp_path, code)[kind] == expected


@pytest.mark.parametrize(
    "code",
    [
        '"""Of 3 > 2."""',
        "a: Array[3] = b",
        "def f(a: Array[3], seed: int = 0) -> str:\n    return a",
        "@cache(maxsize=3)\ndef f(): ...",
        "x = f'{a + 3}'",
        "x = isinstance(a, int | float)",
        "x = f(seed=3)",
        "x = zip(a, b, strict=True)",
    ],
)
def test_what_is_no_behaviour_is_left_alone(tmp_path: Path, code: str) -> None:
    assert changes(tmp_path, code) == {}


def test_what_is_known_to_be_no_fault_can_still_be_made() -> None:
    """A line that has been edited is judged again."""
    layout = Layout.here()
    known = equivalents(layout)
    made = {
        (mutant.file, mutant.was, mutant.now)
        for file in {file for file, _, _ in known}
        if (layout.packages / file).is_file()
        for mutant in mutants_of(layout.packages, file)
    }
    assert known.keys() - made == set()
