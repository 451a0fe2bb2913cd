"""What a run under another processor's arithmetic is compared by."""

from typing import Any

import pytest
from rich.console import Console

from bookpress.anywhere import VARIABLES, _differences, outcomes, run_anywhere
from bookpress.graph.engine import BuildError
from bookpress.notebooks.run import run


def test_verdicts_and_passes_are_compared_and_values_are_not(toy: Any) -> None:
    record = run(toy.add("good"), layout=toy.layout)
    found = outcomes(record)
    assert found["demo/lemma-1"].startswith("holds")
    assert found["demo/lemma-1, check 'one is less'"] == "passes"
    (settled,) = record.claims
    first, *rest = settled.evidence
    moved = settled.model_copy(update={"evidence": [first.model_copy(update={"measured": 0.34}), *rest]})
    assert outcomes(record.model_copy(update={"claims": [moved]})) == found
    fallen = settled.model_copy(update={"evidence": [first.model_copy(update={"passed": False}), *rest]})
    assert outcomes(record.model_copy(update={"claims": [fallen]})) != found


def test_a_setting_and_a_book_are_needed(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BuildError, match="set ATEN_CPU_CAPABILITY or MKL_CBWR"):
        run_anywhere(toy.layout, "1", Console())
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    with pytest.raises(BuildError, match="not built"):
        run_anywhere(toy.layout, "1", Console())


def test_what_differs_is_named_with_both_outcomes(toy: Any) -> None:
    record = run(toy.add("good"), layout=toy.layout)
    (settled,) = record.claims
    first, _ = settled.evidence
    path = toy.layout.root / "elsewhere.json"
    assert _differences(record, path) == {"the run": "did not come to its end"}
    record.write(path)
    assert _differences(record, path) == {}
    other = settled.model_copy(update={"evidence": [first.model_copy(update={"passed": None})]})
    record.model_copy(update={"claims": [other]}).write(path)
    assert _differences(record, path) == {
        "demo/lemma-1, check 'one is less'": "open, in the book passes",
        "demo/lemma-1, control 'four is less'": "not there, in the book fails",
    }
    twice = outcomes(record.model_copy(update={"claims": [settled.model_copy(update={"evidence": [first, first]})]}))
    assert [name for name in twice if "check" in name] == [
        "demo/lemma-1, check 'one is less'",
        "demo/lemma-1, check 'one is less' (2)",
    ]
