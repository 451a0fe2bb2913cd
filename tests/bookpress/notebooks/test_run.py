"""Running notebooks that are made to fail, each in its own way."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from bookpress.claims.record import Record
from bookpress.notebooks.profile import Settings
from bookpress.notebooks.run import Exit, RunFailed, clean, run


def files(folder: Path) -> set[str]:
    """What a run leaves, beside what was read of its source."""
    return {path.name for path in folder.rglob("*") if path.is_file() and path.parent != folder / "memory"}


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("failed_check", Exit.FAILED_CHECK, "cell 5.*the evidence says 'undecided here', the registry"),
        ("idle_control", Exit.FAILED_CHECK, "cell 5.*a control did not fail"),
        ("other_verdict", Exit.FAILED_CHECK, "cell 5.*the evidence says 'holds', the registry expects 'refuted'"),
        ("unknown_claim", Exit.BAD_REGISTRY, "cell 5.*unknown claim 'demo/lemma-9'"),
        ("settles_nothing", Exit.FAILED_CHECK, "it settles no claim"),
        (
            "settles_another",
            Exit.FAILED_CHECK,
            "it settles demo/lemma-1, which .* not give to it; it leaves demo/lemma-7 out",
        ),
        ("settles_twice", Exit.FAILED_CHECK, "it settles demo/lemma-8 twice"),
        ("prints", Exit.FAILED_CELL, "cell 5.*`while True:`.*stopped after 4 MB of output"),
        ("raises", Exit.FAILED_CELL, "cell 5.*`1 / 0`.*ZeroDivisionError"),
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
    (toy.layout.profiles / "full.yaml").write_text(f"{notebook}: {{minutes: 0.2}}\n")
    with pytest.raises(RunFailed, match=f"(?s){notebook}, cell 5.*`while True:`.*time limit") as failure:
        run(notebook, profile="full", layout=toy.layout)
    assert failure.value.code is Exit.TIME_OUT
    assert files(toy.layout.build) == {"endless.failed.ipynb"}


def test_a_cell_may_take_most_of_what_its_notebook_may() -> None:
    assert 0.5 * 240 < Settings(minutes=240).cell_minutes < 240


def test_a_parameter_out_of_range_or_unknown_is_named(toy: Any) -> None:
    notebook = toy.add("good")
    with pytest.raises(RunFailed, match="n must be a whole number, at least 1, got 0") as failure:
        run(notebook, {"n": 0}, layout=toy.layout)
    assert failure.value.code is Exit.BAD_PARAMETER
    with pytest.raises(RunFailed, match="no parameter 'm'; it has: n") as failure:
        run(notebook, {"m": 0}, layout=toy.layout)
    assert failure.value.code is Exit.BAD_PARAMETER


def test_a_good_run_is_whole_repeats_to_the_bit_and_clears_an_earlier_failure(toy: Any) -> None:
    notebook = toy.add("good")
    with pytest.raises(RunFailed):
        run(notebook, {"n": 0}, layout=toy.layout, output=toy.layout.executed(notebook, "laptop"))
    first = run(notebook, layout=toy.layout)
    executed = toy.layout.executed(notebook, "laptop").read_bytes()
    assert files(toy.layout.build) == {"good.ipynb", "good.json"}
    assert Record.read(toy.layout.record(notebook, "laptop")) == first

    second = run(notebook, layout=toy.layout)
    assert second.claims == first.claims
    assert second.figures == first.figures
    assert toy.layout.executed(notebook, "laptop").read_bytes() == executed
    assert str(toy.layout.root) not in executed.decode()


def test_a_run_that_fails_leaves_the_last_good_one(toy: Any) -> None:
    notebook = toy.add("good")
    run(notebook, layout=toy.layout)
    kept = toy.layout.record(notebook, "laptop").read_bytes()
    toy.add("raises", name="good")
    with pytest.raises(RunFailed):
        run(notebook, layout=toy.layout)
    assert toy.layout.record(notebook, "laptop").read_bytes() == kept


def test_own_parameters_go_to_an_output_of_their_own(toy: Any, tmp_path: Path) -> None:
    notebook = toy.add("good")
    record = run(notebook, {"n": 2}, layout=toy.layout, output=tmp_path / "mine.ipynb")
    assert record.parameters == {"n": 2}
    assert (tmp_path / "mine.json").is_file()
    assert not toy.layout.record(notebook, "laptop").exists()


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


def test_what_differs_between_two_runs_is_stripped() -> None:
    kernel = {"name": "python3", "display_name": "Python 3"}
    cells = [
        new_markdown_cell("Words.", id="a", metadata={"tags": ["papermill-error-cell-tag"]}),
        new_markdown_cell("Words.", id="b", metadata={"papermill": {"duration": 1}}),
        new_code_cell("1", id="c", metadata={"tags": ["parameters"], "execution": {"iopub.status.busy": "now"}}),
    ]
    cleaned = clean(
        new_notebook(
            cells=cells,
            metadata={"papermill": {"duration": 2}, "kernelspec": kernel},
        )
    )
    assert cleaned.metadata == {"kernelspec": kernel}
    assert [(cell["id"], cell.source) for cell in cleaned.cells] == [("cell-0", "Words."), ("cell-1", "1")]
    assert [cell.metadata for cell in cleaned.cells] == [{}, {"tags": ["parameters"]}]
