"""The records of the last laptop run, where there is one: whole, and as the registry expects."""

import pytest

from bookpress.claims.evidence import describe
from bookpress.claims.record import Record
from bookpress.claims.registry import Registry, Verdict
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.dependencies import Dependencies
from bookpress.notebooks.source import Notebook
from laptop_values import Laptop, differences

LAYOUT = Layout.here()
NOTEBOOKS = LAYOUT.notebooks()


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    paths = {notebook: LAYOUT.record(notebook, LAPTOP) for notebook in NOTEBOOKS}
    if not all(path.is_file() for path in paths.values()):
        pytest.skip("the book is not built: `make book` first")
    return {notebook: Record.read(path) for notebook, path in paths.items()}


def test_every_claim_is_settled_once_by_the_notebook_that_the_registry_names(records: dict[str, Record]) -> None:
    registry = Registry.load(LAYOUT)
    for notebook, record in records.items():
        found = {settled.claim: (settled.verdict, settled.proof) for settled in record.claims}
        assert len(found) == len(record.claims), notebook
        claims = registry.of_notebook(notebook).items()
        due = {name: (entry.expected, entry.expected_proof) for name, entry in claims}
        assert found == {name: one for name, one in due.items() if one[0] is not Verdict.NOT_RUN}, notebook


def test_every_comparison_came_out_as_its_role_says(records: dict[str, Record]) -> None:
    items = [
        (settled.claim, item)
        for record in records.values()
        for settled in record.claims
        for item in settled.evidence
        if settled.expected is not Verdict.UNDECIDED
        # What an interval leaves open is the part of a figure that is not reproduced.
        and not (settled.expected is Verdict.PARTLY_REPRODUCED and item.passed is None)
    ]
    assert [(claim, describe(item)) for claim, item in items if item.out_of_role] == []


def test_values_are_those_that_are_kept(records: dict[str, Record]) -> None:
    assert [fault for record in records.values() for fault in differences(LAYOUT, record)] == []
    kept = {paper: Laptop.of(LAYOUT, paper) for paper in {name.partition("/")[0] for name in NOTEBOOKS}}
    strange = {
        (record.environment.get("processor", ""), record.environment.get("python", ""))
        for name, record in records.items()
        if not kept[name.partition("/")[0]].knows(record)
    }
    if strange:
        known = [(paper, laptop.processors, laptop.releases) for paper, laptop in kept.items()]
        pytest.skip(f"labels were compared and values were not: made on {strange}, values are kept of {known}")


def test_records_are_of_the_code_that_is_here(records: dict[str, Record]) -> None:
    reach = Dependencies(LAYOUT, LAPTOP)
    stale = [
        notebook
        for notebook, record in records.items()
        if record.fingerprint != reach.fingerprint(Notebook(notebook, LAYOUT))
    ]
    assert stale == []


def test_kept_full_size_records_are_of_claims_that_there_are() -> None:
    registry = Registry.load(LAYOUT)
    for path in (LAYOUT.results / "records").rglob("*.json"):
        for settled in Record.read(path).claims:
            assert registry.entry(settled.claim).expected is not Verdict.NOT_RUN
