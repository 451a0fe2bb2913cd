"""Making the whole book: what an interrupted build left is put right, and the graph is run.

Snakemake knows what is to be run. What it does not know is left after a kill or a power cut: files that were written
aside, a record that is cut short, a page that is missing.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from bookpress.claims.record import Record, RecordError
from bookpress.claims.registry import Registry
from bookpress.files import matches_manifest, remove_leftovers
from bookpress.graph.engine import Unfinished, run_graph, the_only_build
from bookpress.layout import Layout
from bookpress.notebooks.dependencies import Dependencies
from bookpress.notebooks.pair import unpaired
from bookpress.notebooks.profile import load_profile
from bookpress.notebooks.source import Notebook, SourceError


def build_book(layout: Layout, profile: str, cores: str, console: Console) -> None:
    """Run what has changed, bind the pages and build the site.

    Raises:
        BuildError: something failed, or another build of this book is running.
        RegistryError, ProfileError, SourceError: nothing can be run; the message names the file.
    """
    with the_only_build(layout):
        Registry.load(layout)
        load_profile(profile, layout)
        dependencies = Dependencies(layout, profile)
        for line in [*_tidied(layout), *_drift(layout)]:
            console.print(line, markup=False, soft_wrap=True)
        records = _stale(layout, profile, dependencies, console)
        try:
            run_graph(layout, [*map(str, records), "build/bound", "site"], cores, profile=profile)
        except Unfinished as error:
            show_failures(error.failed, console)
            raise


def _tidied(layout: Layout) -> Iterator[str]:
    """Remove what killed processes left, and what is damaged of the pages and the site, so that it is made again."""
    left = remove_leftovers([layout.build, layout.book, layout.sources, layout.results])
    if left:
        yield f"removed {len(left)} files that an interrupted run had left"
    if layout.bound.exists() and not matches_manifest(layout.bound, layout.book):
        layout.bound.unlink()
        yield "pages are missing or damaged and are made again"
    if layout.site.exists() and not matches_manifest(layout.site_manifest, layout.site):
        shutil.rmtree(layout.site)
        yield "the site was damaged or not finished and is made again"


def _stale(layout: Layout, profile: str, dependencies: Dependencies, console: Console) -> list[Path]:
    """Remove the records that are damaged or of other code, and list them with those that are missing.

    They are targets of the graph: Snakemake does not miss a file between finished work and its sources. Its checksums
    of modules as inputs would not do: prose would run a page again, and damaged records would pass.
    """
    stale = []
    for name in layout.notebooks():
        path = layout.record(name, profile)
        try:
            record = Record.of(layout, name, profile)
            if record is not None and record.fingerprint == dependencies.fingerprint(Notebook(name, layout)):
                continue
        except SourceError:
            pass  # its run says what is wrong
        except RecordError as error:
            console.print(f"{name}: {error}; it is made again", markup=False, soft_wrap=True)
        path.unlink(missing_ok=True)
        stale.append(path.relative_to(layout.root))
    return stale


def _drift(layout: Layout) -> Iterator[str]:
    try:
        off = unpaired(layout)
    except SourceError:
        return
    if off:
        yield f"warning: the .ipynb says something else than the .py, which counts (make pair): {', '.join(off)}"


def show_failures(failed: dict[str, str], console: Console) -> None:
    """Print what failed, each with the first line of the reason."""
    for name, why in failed.items():
        first, *_ = why.split("\n")
        console.print(f"failed: {name}: {first}", markup=False, soft_wrap=True)
