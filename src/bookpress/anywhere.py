"""The short notebooks under the arithmetic of another processor: what may not differ is a verdict.

Vector instructions and the order of sums differ from one processor to the next. Two settings of the libraries bring
that about on one machine; under them a comparison has to come out as it did in the book.
"""

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from bookpress.claims.record import Record
from bookpress.graph.build import show_failures
from bookpress.graph.engine import BuildError, Unfinished, run_graph, the_only_build
from bookpress.layout import LAPTOP, Layout

#: What chooses the instructions of torch, and those of the library that it multiplies matrices with.
VARIABLES = ("ATEN_CPU_CAPABILITY", "MKL_CBWR")

#: Longer ones train for minutes, and are compared by their full-size records.
SECONDS = 20.0


def run_anywhere(layout: Layout, cores: str, console: Console) -> None:
    """Run every notebook that took under :data:`SECONDS` in the book, under the setting in the environment.

    Raises:
        BuildError: no setting is given, the book is not built, or a run came out otherwise than in the book.
    """
    setting = "-".join(os.environ[name].lower() for name in VARIABLES if os.environ.get(name))
    if not setting:
        raise BuildError(f"set {' or '.join(VARIABLES)}: without them this is the run of the book")
    found = {name: Record.of(layout, name, LAPTOP) for name in layout.notebooks()}
    book = {name: record for name, record in found.items() if record and record.seconds < SECONDS}
    if not book:
        raise BuildError("the book is not built: `make book` first")
    with the_only_build(layout):
        paths = {name: layout.elsewhere(name, setting) for name in book}
        targets = [str(path.relative_to(layout.root)) for path in paths.values()]
        with suppress(Unfinished):
            run_graph(layout, targets, cores, setting=setting)
    differing: dict[str, str] = {}
    for name, path in paths.items():
        differing |= {f"{name}, {place}": what for place, what in _differences(book[name], path).items()}
    if differing:
        show_failures(differing, console)
        raise BuildError(f"{len(differing)} outcomes under {setting} differ from those of the book")
    console.print(f"{len(book)} notebooks come out under {setting} as in the book")


def outcomes(record: Record) -> dict[str, str]:
    """The verdict of every claim and the outcome of every comparison, by claim and label; labels used twice counted."""
    found = {}
    for settled in record.claims:
        found[settled.claim] = f"{settled.verdict}; proof: {settled.proof or 'none'}"
        seen: Counter[str] = Counter()
        for item in settled.evidence:
            seen[item.label] += 1
            again = f" ({seen[item.label]})" if seen[item.label] > 1 else ""
            outcome = "open" if item.passed is None else "passes" if item.passed else "fails"
            found[f"{settled.claim}, {item.role} '{item.label}'{again}"] = outcome
    return found


def _differences(book: Record, path: Path) -> dict[str, str]:
    if not path.is_file():
        return {"the run": "did not come to its end"}
    ours, theirs = outcomes(book), outcomes(Record.read(path))
    return {
        place: f"{theirs.get(place, 'not there')}, in the book {ours.get(place, 'not there')}"
        for place in sorted(ours.keys() | theirs.keys())
        if ours.get(place) != theirs.get(place)
    }
