"""The values of the laptop run, one small file a paper, so that a change in what a notebook finds is seen.

They are what was found on the machines named in the file, and no verdict rests on them. Other arithmetic sums in
another order: a value is the same where it agrees to one part in twenty, at the level of rounding where its order of
magnitude does, and, where a computation amplifies rounding, within the range that has been found. How much a training
amplifies it on a processor of a new kind nobody knows beforehand, and the library of another release of Python is
another text for the pages that read it; so values are compared on the processors and releases that are named.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bookpress.claims.evidence import ROUNDING, Item, Number
from bookpress.claims.record import Record
from bookpress.files import write_whole
from bookpress.layout import Layout

#: How far apart values at the level of rounding may be, in powers of ten.
DECADES = 3.0
SHARE = 0.05

#: A value, or one with the least and the largest that other arithmetic has given.
Kept = Number | Sequence[float]


@dataclass(frozen=True)
class Laptop:
    """What is kept of a paper: by notebook, claim and label the values, and the machines they were found on.

    Attributes:
        processors: the kinds of processor.
        releases: the releases of Python.
        values: by notebook, claim and label.
    """

    processors: list[str]
    releases: list[str]
    values: dict[str, dict[str, dict[str, Kept]]]

    @classmethod
    def of(cls, layout: Layout, paper: str) -> "Laptop":
        """What is kept of a paper; nothing where there is no file."""
        path = _path(layout, paper)
        return cls(**json.loads(path.read_text())) if path.is_file() else cls([], [], {})

    def knows(self, record: Record) -> bool:
        """Whether the values are of a machine like the one that a record was made on."""
        made_on = record.environment
        return made_on.get("processor") in self.processors and made_on.get("python") in self.releases


def keep_values(
    layout: Layout, records: Iterable[Record], others: Iterable[Record] = (), *, beside: bool = False
) -> list[Path]:
    """Write the values of a run, each with the range over it and ``others`` where that is wider than one in twenty.

    ``beside`` widens the ranges that are kept, and adds the processor and the release of Python, in place of writing
    all anew: for a run of the same code on another machine. The value that a range is told from stays the first one:
    were it the latest, values that drift from machine to machine by less than one in twenty would leave the first out.
    """
    found = list(records)
    elsewhere: dict[str, list[Record]] = {}
    for record in others:
        elsewhere.setdefault(record.notebook, []).append(record)
    written = []
    for paper in sorted({record.notebook.partition("/")[0] for record in found}):
        ours = [record for record in found if record.notebook.startswith(f"{paper}/")]
        kept = Laptop.of(layout, paper) if beside else Laptop([], [], {})
        values = {}
        for record in ours:
            found_here = values_of(record)
            first, *ends = _parts(kept.values.get(record.notebook, {}))
            told_from = {
                claim: {label: first.get(claim, {}).get(label, value) for label, value in labels.items()}
                for claim, labels in found_here.items()
            }
            seen = [values_of(one) for one in elsewhere.get(record.notebook, [])]
            values[record.notebook] = _with_range(told_from, [found_here, *seen, *ends])
        processors, releases = ({record.environment.get(of, "") for record in ours} for of in ("processor", "python"))
        laptop = Laptop(
            sorted({*kept.processors, *processors} - {""}), sorted({*kept.releases, *releases} - {""}), values
        )
        path = _path(layout, paper)
        write_whole(path, json.dumps(asdict(laptop), indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        written.append(path)
    return written


def values_of(record: Record) -> dict[str, dict[str, Number]]:
    """The measured values of a run by claim and label; a label used twice is numbered."""
    return {settled.claim: _by_label(settled.evidence) for settled in record.claims}


def differences(layout: Layout, record: Record) -> list[str]:
    """Where a run differs from the values that are kept, in words; all of it, where nothing is.

    On a machine that is not named there, labels are compared and values are not.
    """
    laptop = Laptop.of(layout, record.notebook.partition("/")[0])
    kept = laptop.values.get(record.notebook)
    if kept is None:
        return [f"{record.notebook}: no values are kept"]
    known = laptop.knows(record)
    faults = []
    ours = values_of(record)
    for claim in sorted(kept.keys() | ours.keys()):
        here, there = ours.get(claim, {}), kept.get(claim, {})
        faults += [f"{claim}: only here or only kept: {label}" for label in sorted(here.keys() ^ there.keys())]
        faults += [
            f"{claim}: {label}: {here[label]}, kept {there[label]}"
            for label in here.keys() & there.keys()
            if known and not is_same(here[label], there[label])
        ]
    return faults


def is_same(ours: Number, kept: Kept) -> bool:
    """Whether a value is the one kept, up to what another processor may make of it."""
    if isinstance(kept, str | bool) or isinstance(ours, str | bool):
        return ours == kept
    value, low, high = (kept, kept, kept) if isinstance(kept, int | float) else kept
    if ours == value:
        return True
    if any(max(abs(ours), abs(one)) < ROUNDING and _is_near(ours, one) for one in (value, low, high)):
        return True
    slack = SHARE * max(abs(low), abs(high))
    return low - slack <= ours <= high + slack


def _is_near(ours: float, rounding: float) -> bool:
    return abs(_magnitude(ours) - _magnitude(rounding)) <= DECADES


def _magnitude(value: float) -> float:
    return math.log10(max(abs(value), 1e-16))


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


def _parts(kept: dict[str, dict[str, Kept]]) -> list[dict[str, dict[str, Number]]]:
    """Of what is kept of a notebook the values, the least and the largest, as if they were those of three runs."""

    def part(value: Kept, place: int) -> Number:
        return value if isinstance(value, str | bool | int | float) else value[place]

    return [
        {claim: {label: part(value, place) for label, value in labels.items()} for claim, labels in kept.items()}
        for place in range(3)
    ]


def _path(layout: Layout, paper: str) -> Path:
    return layout.results / "laptop" / f"{paper}.json"
