"""Making the whole book: what an interrupted build left is put right, the graph is run, and what failed is said last.

Snakemake knows what is to be run. What it does not know is left after a kill or a power cut: files that were written
aside, a record that is cut short, a page that is missing.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bookpress.claims.record import Record, RecordError
from bookpress.claims.registry import Registry
from bookpress.files import remove_leftovers
from bookpress.graph.engine import BuildError, fault_of_disk, run_graph, the_only_build
from bookpress.graph.progress import is_watched, reason_in
from bookpress.layout import Layout
from bookpress.notebooks.dependencies import Reach
from bookpress.notebooks.pair import unpaired
from bookpress.notebooks.profile import load_profile
from bookpress.notebooks.source import Notebook, SourceError

#: The output of the jobs that make the pages, and their site.
_LOGS = ("bind.log", "site.log")
#: A line of theirs that says what is wrong; the names of settings among them have these words as parts.
_FAULT = re.compile(r"\b(WARNING|ERROR|[A-Za-z]*Error|fault|[A-Za-z]*Exception)\b")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

#: Whether something that a build makes is as the last build made it.
IsWhole = Callable[[Layout], bool]


def build_book(
    layout: Layout, profile: str, cores: str, console: Console, pages_are_whole: IsWhole, site_is_whole: IsWhole
) -> None:
    """Run what has changed, bind the pages and build the site.

    Raises:
        BuildError: something failed, or another build of this book is running.
        RegistryError, ProfileError, SourceError: nothing can be run; the message names the file.
    """
    with the_only_build(layout):
        Registry.load(layout)
        load_profile(profile, layout)
        reach = Reach(layout, profile)
        reach.check_modules()
        for line in [*_tidied(layout, pages_are_whole, site_is_whole), *_drift(layout)]:
            console.print(line, markup=False, soft_wrap=True)
        targets = [*map(str, _stale(layout, profile, reach, console)), "build/bound", "site"]
        well = run_graph(layout, targets, cores, profile=profile)
        failed = failures(layout, profile, reach)
        if failed:
            show_failures(failed, console)
            count = "1 notebook has" if len(failed) == 1 else f"{len(failed)} notebooks have"
            name, why = next(iter(failed.items()))
            reason = fault_of_disk(layout) or (why if why.startswith(name) else f"{name}: {why}")
            raise BuildError(f"{count} failed, the rest is kept. {reason}")
        if not well:
            reason = fault_of_disk(layout) or _last_fault(layout)
            raise BuildError(f"every notebook has run, the pages were not made: {reason}")


def failures(layout: Layout, profile: str, reach: Reach) -> dict[str, str]:
    """The notebooks without a whole record of the present code, and why."""
    failed = {}
    for name in layout.notebooks():
        try:
            if _is_current(layout, name, profile, reach):
                continue
        except (SourceError, RecordError):
            pass  # its run says what is wrong
        failed[name] = why_not(layout, name, profile)
    return failed


def why_not(layout: Layout, name: str, profile: str) -> str:
    """Why a notebook's last run left no record, in its own words where it had any."""
    log = layout.log(name, profile)
    if not log.is_file():
        return "it was not run"
    return reason_in(log) or "it did not come to its end (killed, or the machine stopped)"


def _tidied(layout: Layout, pages_are_whole: IsWhole, site_is_whole: IsWhole) -> Iterator[str]:
    """Remove what killed processes left, and what is damaged of the pages and the site, so that it is made again."""
    left = remove_leftovers([layout.build, layout.book, layout.sources, layout.results])
    if left:
        yield f"removed {len(left)} files that an interrupted run had left"
    bound = layout.build / "bound"
    if bound.exists() and not pages_are_whole(layout):
        bound.unlink()
        yield "pages are missing or damaged and are made again"
    site = layout.root / "_build"
    if site.exists() and not site_is_whole(layout):
        shutil.rmtree(site)
        yield "the site was damaged or not finished and is made again"


def _stale(layout: Layout, profile: str, reach: Reach, console: Console) -> list[Path]:
    """Remove the records that are damaged or of other code, and list them with those that are missing.

    They are targets of the graph: Snakemake does not miss a file between finished work and its sources.
    """
    stale = []
    for name in layout.notebooks():
        path = layout.record(name, profile)
        try:
            if _is_current(layout, name, profile, reach):
                continue
        except SourceError:
            pass  # its run says what is wrong
        except RecordError as error:
            console.print(f"{name}: {error}; it is made again", markup=False, soft_wrap=True)
        path.unlink(missing_ok=True)
        layout.log(name, profile).unlink(missing_ok=True)
        stale.append(path.relative_to(layout.root))
    return stale


def _is_current(layout: Layout, name: str, profile: str, reach: Reach) -> bool:
    record = Record.of(layout, name, profile)
    return record is not None and record.fingerprint == reach.fingerprint(Notebook(name, layout))


def _drift(layout: Layout) -> Iterator[str]:
    try:
        off = unpaired(layout)
    except SourceError:
        return
    if off:
        yield f"warning: the .ipynb says something else than the .py, which counts (make pair): {', '.join(off)}"


def show_failures(failed: dict[str, str], console: Console) -> None:
    """Print a table of what failed, with the first line of why; outside a terminal, one line each."""
    if not is_watched(console):
        for name, why in failed.items():
            console.print(f"failed: {name}: {why.splitlines()[0] if why else ''}", markup=False, soft_wrap=True)
        return
    table = Table(show_edge=False)
    table.add_column("failed", overflow="fold", min_width=max(map(len, failed)))
    table.add_column("why", overflow="fold")
    for name, why in failed.items():
        table.add_row(name, Text(why.splitlines()[0] if why else ""))
    console.print(table)


def _last_fault(layout: Layout) -> str:
    """The line in which the newest of the logs says what is wrong."""
    logs = [path for name in _LOGS if (path := layout.build / name).is_file()]
    if not logs:
        return f"the reason is in {layout.root / '.snakemake' / 'log'}"
    log = max(logs, key=lambda path: path.stat().st_mtime)
    text = _COLOUR.sub("", log.read_text(encoding="utf-8", errors="replace"))
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    faults = [line for line in lines if _FAULT.search(line)] or lines[-1:] or ["nothing was said"]
    return f"{faults[0]} (build/{log.name})"
