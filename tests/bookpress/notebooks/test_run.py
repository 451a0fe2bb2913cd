"""Running notebooks that are made to fail, each in its own way."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bookpress.claims.record import Record
from bookpress.notebooks.profile import Settings
from bookpress.notebooks.run import MEMORY, PROCESSOR, USE, Exit, RunFailed, clean, run, run_for_record
from bookpress.notebooks.source import Notebook


def files(folder: Path) -> set[str]:
    """The files of runs, without what was read of their sources and without matplotlib's list of fonts."""
    kept = (folder / "memory", folder / "matplotlib")
    return {path.name for path in folder.rglob("*") if path.is_file() and path.parent not in kept}


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("failed_check", Exit.FAILED_CHECK, "cell 5.*the evidence says 'undecided here', the registry"),
        ("unknown_claim", Exit.BAD_REGISTRY, "cell 5.*unknown claim 'demo/lemma-9'"),
        (
            "settles_another",
            Exit.FAILED_CHECK,
            "it settles demo/lemma-1, which .* not give to it; it leaves demo/lemma-7 out",
        ),
        ("prints", Exit.FAILED_CELL, "cell 5.*`while True:`.*stopped after 4 MB of output"),
        ("shouts", Exit.FAILED_CELL, r"cell 5.*ValueError: eee.* \.\.\. \(10000000 letters\)$"),
        ("leaves", Exit.FAILED_CELL, "cell 5.*SystemExit"),
        ("killed", Exit.DEAD_KERNEL, "cell 5.*`import os, signal`.*the kernel died"),
    ],
)
def test_each_failure_has_its_code_and_names_notebook_and_cell(toy: Any, body: str, code: Exit, message: str) -> None:
    notebook = toy.add(body)
    with pytest.raises(RunFailed, match=f"(?s){notebook}[,:] {message}") as failure:
        run(notebook, layout=toy.layout)
    assert failure.value.code is code
    assert files(toy.layout.build) == {f"{body}.failed.ipynb"}
    assert toy.layout.failed(notebook, "laptop").stat().st_size < 5_000_000


def test_an_endless_cell_ends_at_the_limit_of_its_profile(toy: Any) -> None:
    notebook = toy.add("endless")
    toy.layout.profiles.mkdir()
    # On a busy machine an earlier cell may be at the limit.
    (toy.layout.profiles / "full.yaml").write_text(f"{notebook}: {{minutes: 0.1}}\n")
    with pytest.raises(RunFailed, match=rf"(?s){notebook}, cell \d.*time limit") as failure:
        run(notebook, profile="full", layout=toy.layout)
    assert failure.value.code is Exit.TIME_OUT
    assert files(toy.layout.build) == {"endless.failed.ipynb"}


def test_a_value_that_only_the_notebook_can_refuse_is_a_bad_parameter(toy: Any, edit: Any) -> None:
    notebook = toy.add("good")
    edit(toy.layout.source(notebook), "require(n=(n, 1, None))", "require(square=(n**2, 1, 9))")
    with pytest.raises(RunFailed, match="square must be a whole number from 1 to 9, got 16") as failure:
        run(notebook, {"n": 4}, layout=toy.layout)
    assert failure.value.code is Exit.BAD_PARAMETER


@pytest.mark.parametrize(
    "name", ["notebooks/demo/other.ipynb", "build/laptop/demo/a.ipynb", "src/a.ipynb", "b/../book/a.ipynb"]
)
def test_a_run_of_ones_own_leaves_the_book_alone(toy: Any, name: str) -> None:
    notebook = toy.add("good")
    with pytest.raises(RunFailed, match="the output must be outside of the book's own"):
        run(notebook, {"n": 2}, layout=toy.layout, output=toy.layout.root / name)


@pytest.mark.parametrize("name", ["", ".", "mine.json", "README.md", "mine"])
def test_an_output_is_an_ipynb(toy: Any, name: str) -> None:
    with pytest.raises(RunFailed, match=r"the output must be a file that ends in \.ipynb"):
        run(toy.add("good"), {"n": 2}, layout=toy.layout, output=Path(name))


@pytest.mark.parametrize("name", ["folder.ipynb", "file/mine.ipynb", "/proc/mine.ipynb"])
def test_an_output_that_cannot_be_written_is_named_before_the_run(toy: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=f"'{tmp_path / name}'$"):
        run(toy.add("raises"), {"n": 2}, layout=toy.layout, output=tmp_path / name)


def test_a_good_run_is_whole_repeats_to_the_bit_and_outlasts_a_failure_which_it_clears(toy: Any) -> None:
    notebook = toy.add("good")
    first = run(notebook, layout=toy.layout)
    executed = toy.layout.executed(notebook, "laptop").read_bytes()
    toy.add("raises", name="good")
    with pytest.raises(RunFailed):
        run(notebook, layout=toy.layout)
    assert files(toy.layout.build) == {"good.ipynb", "good.json", "good.failed.ipynb"}
    assert Record.read(toy.layout.record(notebook, "laptop")) == first

    toy.add("good")
    second = run(notebook, layout=toy.layout)
    assert files(toy.layout.build) == {"good.ipynb", "good.json"}
    assert (second.claims, second.figures) == (first.claims, first.figures)
    assert toy.layout.executed(notebook, "laptop").read_bytes() == executed
    assert str(toy.layout.root) not in executed.decode()


def test_a_full_size_run_keeps_a_verdict_that_was_not_expected(toy: Any) -> None:
    notebook = toy.add("other_verdict")
    toy.layout.profiles.mkdir()
    (toy.layout.profiles / "full.yaml").write_text(f"{notebook}: {{minutes: 1}}\n")
    (settled,) = run(notebook, profile="full", layout=toy.layout).claims
    assert (settled.verdict, settled.expected) == ("holds", "refuted")
    assert files(toy.layout.build) == {"other_verdict.ipynb", "other_verdict.json"}


def test_the_full_profile_sets_parameters_and_keeps_what_could_not_have_told(toy: Any) -> None:
    notebook = toy.add("good")
    toy.layout.profiles.mkdir()
    (toy.layout.profiles / "full.yaml").write_text(f"{notebook}: {{parameters: {{n: 5}}, minutes: 1}}\n")
    record = run(notebook, profile="full", layout=toy.layout)
    assert record.parameters == {"n": 5}
    assert record.claims[0].verdict == "undecided here"
    assert "four is less" in str(record.claims[0].note)


def test_a_readers_own_parameters_stop_nothing_and_the_books_own_do(toy: Any, tmp_path: Path) -> None:
    notebook = toy.add("good")
    run(notebook, {"n": 5}, layout=toy.layout, output=tmp_path / "mine.ipynb")
    run(notebook, {"n": 3}, layout=toy.layout, output=tmp_path / "mine.ipynb")
    failing = toy.add("failed_check")
    with pytest.raises(RunFailed) as failure:
        run(failing, {"n": 3}, layout=toy.layout, output=tmp_path / "mine.ipynb")
    assert failure.value.code is Exit.FAILED_CHECK


@pytest.mark.parametrize(("chosen", "threads"), [({}, "1"), ({"OMP_NUM_THREADS": "2"}, "2")])
def test_a_notebook_computes_on_one_thread_unless_told_otherwise(chosen: dict[str, str], threads: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | chosen
    code = "import torch, bookpress; print(torch.get_num_threads())"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == threads


def test_what_a_kernel_has_used_is_noted_until_the_notebook_is_kept(toy: Any, tmp_path: Path) -> None:
    notebook = Notebook(toy.add("good"), toy.layout)
    executed, _ = run_for_record(notebook, {"n": 2}, Settings(), "laptop", tmp_path / "a.ipynb", [])
    use = executed.metadata[USE]
    assert use[PROCESSOR] > 0
    assert sys.platform != "linux" or 50 < use[MEMORY] < 4000
    cleaned = clean(executed)
    assert set(cleaned.metadata) == {"kernelspec", "language_info"}
    assert [cell["id"] for cell in cleaned.cells] == [f"cell-{number}" for number in range(len(cleaned.cells))]
    (given,) = [cell for cell in cleaned.cells if "injected-parameters" in cell.metadata.get("tags", [])]
    assert given.source == "# Parameters\nn = 2\n"
