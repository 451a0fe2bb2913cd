"""Records: sealed, read whole or refused, and what is taken out of an executed notebook."""

import json
import math
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from bookpress.claims.evidence import CLAIM_MIME, FIGURE_MIME, REPORT_MIME, Item, Role, Settled
from bookpress.claims.record import (
    Record,
    RecordError,
    claims_in,
    environment_in,
    figures_in,
    numbers_in,
    outputs_of,
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
            statement="s",
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
