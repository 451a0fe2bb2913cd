"""The values of the laptop run, one small file a paper, so that a change in what a notebook finds is seen.

They are what one machine found, and no verdict rests on them. Another processor sums in another order: a value is
the same where it agrees to one part in twenty, at the level of rounding where its order of magnitude does, and, where a
computation amplifies rounding, within the range that runs under other arithmetic have found.
"""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from bookpress.evidence import Item, Number
from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.record import Record

#: Below this a float64 value is rounding, of which only the order of magnitude is telling.
ROUNDING = 1e-9
DECADES = 3.0
SHARE = 0.05

#: A value, or one with the least and the largest that other arithmetic has given.
Kept = Number | Sequence[float]


def kept_values(layout: Layout, paper: str) -> dict[str, dict[str, dict[str, Kept]]]:
    """Notebook, claim, label: value."""
    path = _path(layout, paper)
    found: dict[str, dict[str, dict[str, Kept]]] = json.loads(path.read_text()) if path.is_file() else {}
    return found


def keep_values(layout: Layout, records: Iterable[Record], others: Iterable[Record] = ()) -> list[Path]:
    """Write the values of a run, each with the range over it and ``others`` where that is wider than one in twenty."""
    found = list(records)
    elsewhere: dict[str, list[Record]] = {}
    for record in others:
        elsewhere.setdefault(record.notebook, []).append(record)
    written = []
    for paper in sorted({record.notebook.partition("/")[0] for record in found}):
        values = {
            record.notebook: _with_range(
                values_of(record), [values_of(one) for one in elsewhere.get(record.notebook, [])]
            )
            for record in found
            if record.notebook.startswith(f"{paper}/")
        }
        path = _path(layout, paper)
        write_whole(path, json.dumps(values, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        written.append(path)
    return written


def values_of(record: Record) -> dict[str, dict[str, Number]]:
    """The measured values of a run by claim and label; a label used twice is numbered."""
    return {settled.claim: _by_label(settled.evidence) for settled in record.claims}


def differences(layout: Layout, record: Record) -> list[str]:
    """Where a run differs from the values that are kept, in words; all of it, where nothing is."""
    kept = kept_values(layout, record.notebook.partition("/")[0]).get(record.notebook)
    if kept is None:
        return [f"{record.notebook}: no values are kept"]
    faults = []
    ours = values_of(record)
    for claim in sorted(kept.keys() | ours.keys()):
        here, there = ours.get(claim, {}), kept.get(claim, {})
        faults += [f"{claim}: only here or only kept: {label}" for label in sorted(here.keys() ^ there.keys())]
        faults += [
            f"{claim}: {label}: {here[label]}, kept {there[label]}"
            for label in here.keys() & there.keys()
            if not is_same(here[label], there[label])
        ]
    return faults


def is_same(ours: Number, kept: Kept) -> bool:
    """Whether a value is the one kept, up to what another processor may make of it."""
    if isinstance(kept, str | bool) or isinstance(ours, str | bool):
        return ours == kept
    value, low, high = (kept, kept, kept) if isinstance(kept, int | float) else kept
    if ours == value:
        return True
    if max(abs(ours), abs(value)) < ROUNDING:
        return abs(_magnitude(ours) - _magnitude(value)) <= DECADES
    slack = SHARE * max(abs(low), abs(high))
    return low - slack <= ours <= high + slack


def _magnitude(value: float) -> float:
    return math.log10(max(abs(value), 1e-18))


def _by_label(evidence: Iterable[Item]) -> dict[str, Number]:
    found: dict[str, Number] = {}
    for item in evidence:
        label, count = item.label, 2
        while label in found:
            label, count = f"{item.label} ({count})", count + 1
        found[label] = item.measured
    return found


def _with_range(
    ours: dict[str, dict[str, Number]], others: list[dict[str, dict[str, Number]]]
) -> dict[str, dict[str, Kept]]:
    def kept(claim: str, label: str, value: Number) -> Kept:
        seen = [value, *(one[claim][label] for one in others if label in one.get(claim, {}))]
        reals = [float(one) for one in seen if not isinstance(one, str | bool) and math.isfinite(one)]
        if len(reals) < len(seen) or all(is_same(one, value) for one in reals):
            return value
        return [float(value), min(reals), max(reals)]

    return {
        claim: {label: kept(claim, label, value) for label, value in labels.items()} for claim, labels in ours.items()
    }


def _path(layout: Layout, paper: str) -> Path:
    return layout.results / "laptop" / f"{paper}.json"
