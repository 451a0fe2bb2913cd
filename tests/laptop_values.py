"""The values of the laptop run, one file per paper in ``results/laptop``, so that a changed value is noticed.

No verdict depends on them. Other processors sum in another order. Two values therefore agree if they differ by at most
one part in twenty, if both are rounding errors of similar magnitude, or if the value lies in the range that other runs
have given. Values are compared on the processors and Python releases that the file names; elsewhere only labels are.

After ``make book``, ``python tests/laptop_values.py PAPER`` keeps the values of a paper, with the ranges of the runs of
``make anywhere``. ``--widen`` widens the ranges that are kept, for the same code on another machine.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bookpress.claims.evidence import ROUNDING, Number
from bookpress.claims.record import Record
from bookpress.files import write_whole
from bookpress.layout import LAPTOP, Layout

#: How far apart values may be: as a fraction, and at the level of rounding in powers of ten.
FRACTION = 0.05
DECADES = 3.0

#: A value, or a value with the smallest and the largest that other runs have given.
Kept = Number | Sequence[float]


@dataclass(frozen=True)
class Laptop:
    """The kept values of a paper, by notebook, claim and label, and the machines that computed them.

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
        """Read the values of a paper; empty where there is no file."""
        path = _path(layout, paper)
        return cls(**json.loads(path.read_text())) if path.is_file() else cls([], [], {})

    def knows(self, record: Record) -> bool:
        """Whether the values come from a machine like the one that a record was made on."""
        made_on = record.environment
        return made_on.get("processor") in self.processors and made_on.get("python") in self.releases


def keep_values(
    layout: Layout, paper: str, records: Iterable[Record], others: Iterable[Record] = (), *, widen: bool = False
) -> Path:
    """Write the values of the records of a paper, each with its range over ``others`` where that exceeds 5 %.

    With ``widen`` the ranges that are kept already are widened, and the processor and the Python release are added.
    The value from which a range is measured remains the first one. If it were the latest, values that drift by less
    than 5 % from machine to machine would leave the first one out.

    Returns:
        The file.
    """
    mine, elsewhere = list(records), list(others)
    kept = Laptop.of(layout, paper) if widen else Laptop([], [], {})
    values: dict[str, dict[str, dict[str, Kept]]] = {}
    for record in mine:
        seen = [values_of(other) for other in elsewhere if other.notebook == record.notebook]
        before = kept.values.get(record.notebook, {})
        values[record.notebook] = {
            claim: {
                label: _with_range(
                    value,
                    [run[claim][label] for run in seen if label in run.get(claim, {})],
                    before.get(claim, {}).get(label),
                )
                for label, value in labels.items()
            }
            for claim, labels in values_of(record).items()
        }
    processors = {*kept.processors, *(record.environment.get("processor", "") for record in mine)} - {""}
    releases = {*kept.releases, *(record.environment.get("python", "") for record in mine)} - {""}
    laptop = Laptop(sorted(processors), sorted(releases), values)
    path = _path(layout, paper)
    write_whole(path, json.dumps(asdict(laptop), indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    return path


def values_of(record: Record) -> dict[str, dict[str, Number]]:
    """The measured values of a run by claim and label; a label that occurs twice is numbered."""
    values: dict[str, dict[str, Number]] = {}
    for settled in record.claims:
        seen: Counter[str] = Counter()
        labels = values.setdefault(settled.claim, {})
        for item in settled.evidence:
            seen[item.label] += 1
            labels[item.label if seen[item.label] == 1 else f"{item.label} ({seen[item.label]})"] = item.measured
    return values


def differences(layout: Layout, record: Record) -> list[str]:
    """Describe where a run differs from the kept values, of which there must be some.

    On a machine that the file does not name, labels are compared and values are not.
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
    """Whether a value agrees with a kept one, up to the arithmetic of another processor."""
    if isinstance(kept, str | bool) or isinstance(ours, str | bool):
        return ours == kept
    value, low, high = (kept, kept, kept) if isinstance(kept, int | float) else kept
    if ours == value or any(_is_rounding(ours, other) for other in (value, low, high)):
        return True
    slack = FRACTION * max(abs(low), abs(high))
    return low - slack <= ours <= high + slack


def _is_rounding(ours: float, other: float) -> bool:
    """Whether both values are rounding errors, of similar magnitude."""
    magnitudes = [math.log10(max(abs(value), 1e-16)) for value in (ours, other)]
    return max(abs(ours), abs(other)) < ROUNDING and abs(magnitudes[0] - magnitudes[1]) <= DECADES


def _with_range(ours: Number, others: list[Number], kept: Kept | None) -> Kept:
    """A value with the range over other runs and what is kept, or the value alone where all are the same."""
    before: list[Number] = [] if kept is None else [kept] if isinstance(kept, str | bool | int | float) else list(kept)
    first = before[0] if before else ours
    seen = [first, ours, *others, *before]
    reals = [float(value) for value in seen if not isinstance(value, str | bool) and math.isfinite(value)]
    if len(reals) < len(seen) or all(is_same(value, first) for value in reals):
        return first
    return [float(first), min(reals), max(reals)]


def _path(layout: Layout, paper: str) -> Path:
    return layout.results / "laptop" / f"{paper}.json"


def main() -> None:
    """Keep the values of the last laptop run of a paper."""
    parser = argparse.ArgumentParser(description="Keep the values of the last laptop run of a paper.")
    parser.add_argument("paper", help="as in book/claims")
    parser.add_argument("--widen", action="store_true", help="widen what is kept: another machine, the same code")
    arguments = parser.parse_args()
    layout = Layout.here()
    notebooks = [name for name in layout.notebooks() if name.startswith(f"{arguments.paper}/")]
    records = [record for name in notebooks if (record := Record.of(layout, name, LAPTOP))]
    if not notebooks or len(records) < len(notebooks):
        parser.error(f"{arguments.paper}: {len(records)} of {len(notebooks)} notebooks have run; `make book` first")
    others = [Record.read(path) for path in sorted((layout.build / "anywhere").glob(f"*/{arguments.paper}/*.json"))]
    print(f"kept {keep_values(layout, arguments.paper, records, others, widen=arguments.widen)}")


if __name__ == "__main__":
    main()
