"""The check of the tests: which changes are made of a file, and what kills them in a toy package."""

import ast
from pathlib import Path

import pytest

from bookpress.layout import Layout
from mutants import mutants_of
from mutation import Copy, Nearness, equivalents


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


FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\nmarkers = ["ends", "anywhere", "exhaustive"]\n',
    "src/toy/__init__.py": "",
    "src/toy/near.py": "def smaller(a: int, b: int) -> bool:\n    return a < b\n\n\ndef idle(a: int) -> int:\n"
    "    while a > 0:\n        a -= 1\n    return a\n",
    "src/toy/far.py": "from toy.near import smaller\n\n\ndef least(a: int, b: int) -> int:\n"
    "    return a if smaller(a, b) else b\n",
    "src/toy/shown.py": "def twice(a: int) -> int:\n    return 2 * a\n",
    "tests/conftest.py": "from hypothesis import settings\n\nsettings.register_profile('first-failure')\n",
    "tests/toy/test_near.py": "from toy.near import idle, smaller\n\n\ndef test_smaller() -> None:\n"
    "    assert not smaller(2, 1)\n    assert idle(1) == 0\n",
    "tests/toy/test_far.py": "from toy.far import least\n\n\ndef test_least() -> None:\n    assert least(1, 2) == 1\n",
    "tests/toy/test_other.py": "def test_nothing() -> None:\n    pass\n",
    "notebooks/demo/page.py": "from toy.shown import twice\n\nassert twice(1) == 2\n",
    "book/claims/demo.yaml": "",
}


@pytest.fixture
def toy_tree(tmp_path: Path) -> Layout:
    for name, content in FILES.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    own = Path(__file__).parent  # what the copy runs pages with
    for name in ("mutation.py", "mutants.py", "laptop_values.py"):
        (tmp_path / "toy" / "tests" / name).write_text((own / name).read_text())
    return Layout(tmp_path / "toy")


def killer(copy: Copy, file: str, now: str) -> str:
    return copy.killer(next(mutant for mutant in mutants_of(copy.layout.packages, file) if mutant.now == now))


@pytest.mark.slow
def test_the_nearest_test_kills_then_others_then_pages(toy_tree: Layout, tmp_path: Path) -> None:
    copy = Copy(toy_tree, tmp_path / "copy")
    assert killer(copy, "toy/near.py", "return a >= b") == "tests/toy/test_near.py::test_smaller"
    assert killer(copy, "toy/near.py", "return a <= b") == ""
    assert killer(copy, "toy/near.py", "return not (a < b)") == "tests/toy/test_near.py::test_smaller"
    assert killer(copy, "toy/shown.py", "return 3 * a") == "notebooks/demo/page.py"
    assert (toy_tree.packages / "toy" / "near.py").read_text() == FILES["src/toy/near.py"]


def test_a_test_reaches_what_it_imports_and_what_it_starts(toy_tree: Layout) -> None:
    (toy_tree.packages / "toy" / "__main__.py").write_text("from toy.far import least\n\nprint(least(1, 2))\n")
    (toy_tree.root / "tests/toy/test_other.py").write_text('COMMAND = ["python", "-m", "toy", "one"]\n')
    reach = Nearness(toy_tree)
    far, other = "tests/toy/test_far.py", "tests/toy/test_other.py"
    assert reach.tests("toy.near") == (["tests/toy/test_near.py"], [far, other])
    assert reach.tests("toy.__main__") == ([], [other])
    assert reach.tests("toy.shown") == ([], [])
    assert (reach.pages("toy.shown"), reach.pages("toy.near")) == (["notebooks/demo/page.py"], [])
