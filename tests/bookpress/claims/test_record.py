"""Records: sealed, read whole or refused; what is taken out of an executed notebook; machine, versions and commit."""

import json
import math
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bookpress.claims.evidence import CLAIM_MIME, FIGURE_MIME, REPORT_MIME, Item, Role, Settled
from bookpress.claims.record import (
    Record,
    RecordError,
    claims_in,
    commit_of,
    environment,
    environment_in,
    figures_in,
    numbers_in,
    outputs_of,
    processor,
    stray_claims,
)
from bookpress.claims.registry import Entry, Kind, Paper, Registry, Verdict
from bookpress.files import digest, digest_of_file
from bookpress.layout import Layout


def settled(claim: str) -> Settled:
    check = Item(role=Role.CHECK, label="c", measured=2.5, relation=">", bound=2, passed=True)
    return Settled(claim=claim, label="Größe", verdict=Verdict.HOLDS, expected=Verdict.HOLDS, evidence=[check])


def a_record(**changes: Any) -> Record:
    values: dict[str, Any] = {
        "notebook": "demo/page",
        "title": "Größe",
        "profile": "laptop",
        "parameters": {"n": 3, "rates": [0.5]},
        "claims": [settled("demo/a")],
        "figures": [],
        "numbers": {"loss": math.inf, "all": [1.0, -math.inf], "yes": True},
        "fingerprint": "f",
        "commit": "c",
        "environment": {"device": "CPU"},
        "seconds": 1.5,
    }
    return Record(**values | changes)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "page.json"
    a_record().write(path)
    assert Record.read(path) == a_record()
    text = path.read_text(encoding="utf-8")
    assert "Größe" in text  # as it is read, not escaped
    assert text.startswith('{\n "notebook": "demo/page",\n')
    assert text.endswith("\n}\n")
    assert list(json.loads(text))[-1] == "seal"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("1.5", "1.25"),
        lambda text: text[:-20],
        lambda text: text.replace('"seal"', '"no seal"'),
        lambda text: "[]",
        lambda text: json.dumps({"notebook": "a", "seal": digest({"notebook": "a"})}),
        lambda text: "\x00",
    ],
)
def test_what_is_no_whole_record_is_refused_in_one_line(tmp_path: Path, change: Any) -> None:
    path = tmp_path / "page.json"
    a_record().write(path)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(RecordError, match=r"^page\.json is damaged: [^\n]*$"):
        Record.read(path)


def test_the_last_run_is_found_by_its_record_and_its_notebook(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    record, executed = layout.record("demo/page", "laptop"), layout.executed("demo/page", "laptop")
    assert Record.of(layout, "demo/page", "laptop") is None
    a_record().write(record)
    assert Record.of(layout, "demo/page", "laptop") is None
    executed.write_text("executed")
    whole = a_record(executed=digest_of_file(executed))
    whole.write(record)
    assert Record.of(layout, "demo/page", "laptop") == whole
    executed.write_text("executed otherwise")
    with pytest.raises(RecordError, match=r"^page\.ipynb is damaged: its content is not what was written$"):
        Record.of(layout, "demo/page", "laptop")
    record.unlink()
    assert Record.of(layout, "demo/page", "laptop") is None


def registry() -> Registry:
    entries = [
        Entry(
            id=name,
            label=name.upper(),
            kind=Kind.LEMMA,
            says="s",
            check="c",
            notebook=f"demo/{page}",
            expected=Verdict.NOT_RUN if name == "d" else Verdict.HOLDS,
            why="w",
        )
        for name, page in (("a", "page"), ("b", "page"), ("c", "other"), ("d", "page"))
    ]
    return Registry(papers=[Paper(name="demo", number=1, title="T", short_title="T", claims=entries)])


@pytest.mark.parametrize(
    ("claims", "faults"),
    [
        ("ab", []),
        ("abd", []),
        ("", ["no claim"]),
        ("aab", ["demo/a twice"]),
        ("abc", ["demo/c, which the registry does not give"]),
        ("b", ["demo/a out"]),
    ],
)
def test_a_notebook_settles_each_of_its_own_claims_once_and_may_leave_out_what_is_not_run(
    claims: str, faults: list[str]
) -> None:
    lines = stray_claims("demo/page", [settled(f"demo/{claim}") for claim in claims], registry())
    assert all(fault in line for fault, line in zip(faults, lines, strict=True))


def shown(mime: str, *payloads: Any) -> nbformat.NotebookNode:
    return new_code_cell(outputs=[new_output("display_data", {mime: one}) for one in payloads])


def of(name: str) -> dict[str, Any]:
    return {"settled": json.loads(settled(name).model_dump_json()), "environment": {"device": name}}


def test_what_a_run_found_is_taken_out_in_order() -> None:
    figure = {"name": "line", "caption": "c", "alt": "a", "photo": False, "data": []}
    reported = [
        {"numbers": numbers, "environment": {"device": device}}
        for numbers, device in (({"loss": 1.0, "n": 2}, "first"), ({"loss": "Infinity"}, "second"))
    ]
    printed = new_code_cell(outputs=[new_output("stream", text="words")])
    reports = [new_markdown_cell("words"), printed, shown(REPORT_MIME, *reported)]
    notebook = new_notebook(cells=[*reports, shown(CLAIM_MIME, of("demo/a"), of("demo/b")), shown(FIGURE_MIME, figure)])
    assert [one.claim for one in claims_in(notebook)] == ["demo/a", "demo/b"]
    assert claims_in(notebook)[0] == settled("demo/a")
    assert [one.model_dump() for one in figures_in(notebook)] == [figure]
    assert numbers_in(notebook) == {"loss": math.inf, "n": 2}  # the last word counts
    assert environment_in(notebook) == {"device": "demo/b"}
    assert environment_in(new_notebook(cells=reports)) == {"device": "second"}
    assert environment_in(new_notebook()) == {}
    assert outputs_of(notebook, "text/none") == []


@pytest.mark.parametrize(("placed", "device"), [(True, "A large GPU"), (False, "CPU")])
def test_a_gpu_counts_once_something_is_on_it(placed: bool, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(is_initialized=lambda: placed, get_device_name=lambda: "A large GPU")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    found = environment()
    assert found["device"] == device
    assert found["python"] == platform.python_version()
    assert (found["torch"].partition("+")[0], found["numpy"]) == (torch.__version__.partition("+")[0], np.__version__)
    assert found["processor"] == processor()


FIRST = "processor\t: 0\nmodel name\t: A 1 : fast\ncpu family\t: 6\nmodel\t\t: 85\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FIRST + "\n" + FIRST.replace("A 1", "B 2"), "A 1 : fast (family 6, model 85)"),
        ("CPU part\t: 0xd40\n", "an architecture"),
        (None, "a name"),
    ],
)
def test_a_processor_is_named_by_its_kind(
    text: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cpuinfo"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr("bookpress.claims.record.Path", lambda _: path)
    monkeypatch.setattr(platform, "machine", lambda: "an architecture")
    monkeypatch.setattr(platform, "processor", lambda: "a name")
    assert processor() == said


def git(folder: Path, *command: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *command], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "a").write_text("one")
    for command in (["init", "-q"], ["add", "a"], ["commit", "-qm", "m"]):
        git(folder, *command)
    return folder


def test_the_commit_is_marked_where_the_tree_differs(repository: Path) -> None:
    assert re.fullmatch("[0-9a-f]{12}", commit_of(repository))
    (repository / "a").write_text("two")
    assert re.fullmatch("[0-9a-f]{12}-dirty", commit_of(repository))


def test_the_commit_of_another_repository_is_not_ours(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = repository / "copy"
    copy.mkdir()
    assert commit_of(copy) == ""
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))  # as a hook of that repository does
    monkeypatch.setenv("GIT_INDEX_FILE", "none")
    assert commit_of(copy) == ""
    assert re.fullmatch("[0-9a-f]{12}", commit_of(repository))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_repository_of_another_user_has_its_commit(repository: Path) -> None:
    before = commit_of(repository)
    for path in [repository, *repository.rglob("*")]:
        os.chown(path, 65534, 65534)
    assert commit_of(repository) == before
