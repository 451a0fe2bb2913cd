"""The check of the tests on a toy package: what is killed, by what, and what the check says of it."""

from pathlib import Path

import pytest

from bookpress.layout import Layout
from mutants import mutants_of
from mutation import Copy, Nearness

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
