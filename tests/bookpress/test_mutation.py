"""The check of the tests on a toy package: what is killed, by what, and what the command says of it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from bookpress import cli
from bookpress.layout import Layout
from bookpress.mutants import mutants_of
from bookpress.mutation import (
    Bench,
    MutationError,
    Nearness,
    Outcome,
    Report,
    Trial,
    chosen_mutants,
    parts,
    run_mutants,
    stale,
)

FILES = {
    "pyproject.toml": "[tool.pytest.ini_options]\n",
    "src/toy/__init__.py": "",
    "src/toy/near.py": "def smaller(a: int, b: int) -> bool:\n    return a < b\n\n\ndef idle(a: int) -> int:\n"
    "    while a > 0:\n        a -= 1\n    return a\n",
    "src/toy/far.py": "from toy.near import smaller\n\n\ndef least(a: int, b: int) -> int:\n"
    "    return a if smaller(a, b) else b\n",
    "src/toy/shown.py": "def twice(a: int) -> int:\n    return 2 * a\n",
    "tests/toy/test_near.py": "from toy.near import idle, smaller\n\n\ndef test_smaller() -> None:\n"
    "    assert not smaller(2, 1)\n    assert idle(1) == 0\n",
    "tests/toy/test_far.py": "from toy.far import least\n\n\ndef test_least() -> None:\n    assert least(1, 2) == 1\n",
    "tests/toy/test_other.py": "def test_nothing() -> None:\n    pass\n",
    "notebooks/demo/page.py": "from toy.shown import twice\n\nassert twice(1) == 2\n",
    "book/claims/demo.yaml": "",
}


@pytest.fixture
def toy_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setattr("bookpress.mutation.LIBRARIES", ("pytest", "hypothesis", "jaxtyping"))
    for name, content in FILES.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return Layout(tmp_path / "toy")


@pytest.fixture
def bench(toy_tree: Layout, tmp_path: Path) -> Iterator[Bench]:
    with Bench(toy_tree, tmp_path / "copy") as made:
        yield made


def killer(bench: Bench, file: str, now: str) -> str:
    return bench.killer(next(one for one in mutants_of(bench.layout.packages, file) if one.now == now))


def test_the_nearest_test_kills_then_others_then_pages(bench: Bench, toy_tree: Layout) -> None:
    assert killer(bench, "toy/near.py", "return a >= b") == "tests/toy/test_near.py::test_smaller"
    assert killer(bench, "toy/near.py", "return a <= b") == ""
    assert killer(bench, "toy/near.py", "return not (a < b)") == "tests/toy/test_near.py::test_smaller"
    assert killer(bench, "toy/shown.py", "return 3 * a") == "notebooks/demo/page.py"
    assert "AssertionError" in bench._output.read_text()
    assert bench.idle_killers() == []
    assert (toy_tree.packages / "toy" / "near.py").read_text() == FILES["src/toy/near.py"]


def test_a_loop_without_end_is_killed_by_its_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookpress.mutation._MIRROR", 6)
    assert killer(bench, "toy/near.py", "a += 1") == "tests/toy/test_near.py (time)"
    assert bench.idle_killers() == []


def test_what_fails_anyway_kills_nothing(toy_tree: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    (toy_tree.root / "tests/toy/test_near.py").write_text(
        "from toy import near\n\n\ndef test_it() -> None:\n    assert 0\n"
    )
    with pytest.raises(MutationError, match=r"test_near\.py::test_it"):
        run_mutants(toy_tree, 0, 1, "toy/near.py:2:", "1", Console(quiet=True))


def test_the_run_names_survivors_and_leaves_out_what_is_known(toy_tree: Layout) -> None:
    console = Console(quiet=True)
    with pytest.raises(MutationError, match=r"66\.7% of the mutants are killed, fewer than 92%"):
        run_mutants(toy_tree, 0, 3, "toy/near.py:2:", "2", console)
    kept = Report.model_validate_json((toy_tree.build / "mutants" / "seed_0.json").read_text())
    (survivor,) = [one for one in kept.trials if one.outcome == "survived"]
    assert (survivor.file, survivor.line, survivor.was, survivor.now) == (
        "toy/near.py",
        2,
        "return a < b",
        "return a <= b",
    )
    known = toy_tree.root / "tests" / "mutants_equivalent.yaml"
    known.write_text("[{file: toy/near.py, was: return a < b, now: return a <= b, why: Nobody asks about equals.}]")
    run_mutants(toy_tree, 0, 3, "toy/near.py:2:", "2", console)
    assert stale(toy_tree) == []
    (toy_tree.packages / "toy" / "near.py").write_text("def smaller(a: int, b: int) -> bool:\n    return b > a\n")
    assert stale(toy_tree) == ["toy/near.py: return a <= b"]


def test_what_cannot_be_told_from_the_code_does_not_count() -> None:
    def trial(outcome: Outcome) -> Trial:
        return Trial(part="toy", file="toy/near.py", line=1, kind="constant", was="1", now="2", outcome=outcome)

    report = Report(seed=0, trials=[trial("killed"), trial("killed"), trial("survived"), trial("equivalent")])
    assert report.score == pytest.approx(2 / 3)
    assert Report(seed=0, trials=[trial("equivalent")]).score == 1


def test_every_paper_is_a_part_and_the_rest_of_the_package_another(toy_tree: Layout) -> None:
    folder = toy_tree.packages / "toy" / "demo"
    folder.mkdir()
    (folder / "lemma.py").write_text("")
    assert dict(parts(toy_tree))["toy/demo"] == ["toy/demo/lemma.py"]
    assert dict(parts(toy_tree))["toy"] == ["toy/__init__.py", "toy/far.py", "toy/near.py", "toy/shown.py"]


def test_a_part_without_anything_to_change_takes_no_share(toy_tree: Layout) -> None:
    folder = toy_tree.packages / "toy" / "demo"
    folder.mkdir()
    (folder / "lemma.py").write_text('"""Words."""\n')
    assert [part for part, _ in chosen_mutants(toy_tree, 0, 4, "")] == ["toy"] * 4


def test_where_nothing_can_be_changed_the_run_says_so(toy_tree: Layout) -> None:
    with pytest.raises(MutationError, match=r"nothing to change at nowhere\.py:3"):
        run_mutants(toy_tree, 0, 1, "nowhere.py:3", "all", Console(quiet=True))


def test_the_command_ends_as_a_book_that_is_not_whole(
    toy_tree: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOOKPRESS_ROOT", str(toy_tree.root))
    monkeypatch.setattr(sys, "argv", ["book", "mutants", "nowhere.py:3", "--seed", "1"])
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert "there is nothing to change at nowhere.py:3" in capsys.readouterr().err


def test_a_test_reaches_what_it_imports_and_what_it_starts(toy_tree: Layout) -> None:
    (toy_tree.packages / "toy" / "__main__.py").write_text("from toy.far import least\n\nprint(least(1, 2))\n")
    (toy_tree.root / "tests/toy/test_other.py").write_text('COMMAND = ["python", "-m", "toy", "one"]\n')
    reach = Nearness(toy_tree)
    assert reach.tests("toy.near") == (
        ["tests/toy/test_near.py"],
        ["tests/toy/test_far.py", "tests/toy/test_other.py"],
    )
    assert reach.tests("toy.__main__") == ([], ["tests/toy/test_other.py"])
    assert reach.tests("toy.shown") == ([], [])
    assert (reach.pages("toy.shown"), reach.pages("toy.near")) == (["notebooks/demo/page.py"], [])
