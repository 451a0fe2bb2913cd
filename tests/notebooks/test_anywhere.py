"""The short notebooks under the arithmetic of other processors: ``make anywhere``.

Vector instructions and the order of sums differ between processors. Two settings of the libraries change both on one
machine. Values may then differ; verdicts and the outcomes of comparisons may not.
"""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bookpress.claims.record import Record
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.run import run

LAYOUT = Layout.here()

#: The variables that choose the instructions of torch, and those of its matrix library.
SETTING = "-".join(os.environ[name].lower() for name in ("ATEN_CPU_CAPABILITY", "MKL_CBWR") if os.environ.get(name))

#: Longer runs train for minutes, and are compared by their full-size records.
SECONDS = 20.0


@pytest.mark.anywhere
@pytest.mark.skipif(not SETTING, reason="neither ATEN_CPU_CAPABILITY nor MKL_CBWR is set: this is the book's own run")
@pytest.mark.parametrize("name", LAYOUT.notebooks())
def test_verdicts_are_those_of_the_book(name: str, tmp_path: Path) -> None:
    """The record is kept: `tests/laptop_values.py` takes the ranges of values from it."""
    book = Record.of(LAYOUT, name, LAPTOP)
    if book is None:
        pytest.skip("the book is not built: `make book` first")
    if book.seconds > SECONDS:
        pytest.skip(f"it took {book.seconds} s in the book, more than {SECONDS} s")
    record = run(name, {}, LAPTOP, LAYOUT, tmp_path / "run.ipynb")
    record.write(LAYOUT.build / "anywhere" / SETTING / f"{name}.json")
    assert outcomes(record) == outcomes(book)


def outcomes(record: Record) -> dict[str, Any]:
    """The verdict and the proof of every claim, and the outcome of every comparison; equal labels are counted."""
    found: dict[str, Any] = {}
    for settled in record.claims:
        found[settled.claim] = (settled.verdict, settled.proof)
        seen: Counter[str] = Counter()
        for item in settled.evidence:
            seen[item.label] += 1
            found[f"{settled.claim}, {item.role} '{item.label}' {seen[item.label]}"] = item.passed
    return found
