"""Making the whole book: the graph of the Snakefile, run here so that it starts, resumes and ends in plain words.

Snakemake knows what is to be run. What it does not know is left after a kill or a power cut: a lock that nobody holds,
files that were written aside, a record that is cut short. That is put right first; what failed is said last.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bookpress.claims.record import Record, RecordError
from bookpress.claims.registry import Registry
from bookpress.files import remove_leftovers
from bookpress.layout import Layout
from bookpress.notebooks.dependencies import Reach
from bookpress.notebooks.pair import unpaired
from bookpress.notebooks.profile import load_profile
from bookpress.notebooks.source import Notebook, SourceError

#: What is told while the pages are made, and their site.
_LOGS = ("bind.log", "site.log")
#: A line of theirs that says what is wrong; the names of settings among them have these words as parts.
_FAULT = re.compile(r"\b(WARNING|ERROR|[A-Za-z]*Error|fault|[A-Za-z]*Exception)\b")


class BuildError(Exception):
    """The book cannot be made whole; the message says by what."""


def build_book(layout: Layout, profile: str, cores: str, console: Console) -> None:
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
        for line in [*_tidied(layout), *_drift(layout)]:
            console.print(line, markup=False, soft_wrap=True)
        targets = [*map(str, _stale(layout, profile, reach, console)), "site"]
        done = run_graph(layout, targets, cores, profile=profile)
        failed = failures(layout, profile, reach)
        if failed:
            show_failures(failed, console)
            names = "1 notebook has" if len(failed) == 1 else f"{len(failed)} notebooks have"
            first, why = next(iter(failed.items()))
            raise BuildError(f"{names} failed, the rest is kept. {'' if why.startswith(first) else f'{first}: '}{why}")
        if not done:
            raise BuildError(f"every notebook has run, the pages were not made: {_last_fault(layout)}")


def failures(layout: Layout, profile: str, reach: Reach) -> dict[str, str]:
    """The notebooks without a whole record of the present code, and why."""
    found = {}
    for name in layout.notebooks():
        try:
            if _is_current(layout, name, profile, reach):
                continue
        except (SourceError, RecordError):
            pass  # told by its run
        found[name] = why_not(layout, name, profile)
    return found


def why_not(layout: Layout, name: str, profile: str) -> str:
    """Why a notebook's last run left no record, in its own words where it had any."""
    told = layout.failure(name, profile)
    killed = "it did not come to its end (killed, or the machine stopped)"
    return told.read_text(encoding="utf-8").strip() if told.is_file() else killed


@contextmanager
def the_only_build(layout: Layout) -> Iterator[None]:
    """Hold the book for as long as this process lives, however it ends, and put away a lock that nobody holds."""
    layout.build.mkdir(exist_ok=True)
    with (layout.build / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError("another build of this book is running; this one did nothing") from None
        locks = layout.root / ".snakemake" / "locks"
        if locks.is_dir() and any(locks.iterdir()):
            if other := _other_snakemake(layout):
                raise BuildError(f"snakemake is running here (process {other}); this build did nothing")
            shutil.rmtree(locks)
        yield


def _other_snakemake(layout: Layout) -> int | None:
    """A process of Snakemake in this folder that was not started by ``book build``."""
    own = {psutil.Process().pid, *(parent.pid for parent in psutil.Process().parents())}
    for process in psutil.process_iter():
        try:
            words = " ".join(process.cmdline())
            if process.pid not in own and "snakemake" in words and process.cwd() == str(layout.root):
                return int(process.pid)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return None


def _tidied(layout: Layout) -> Iterator[str]:
    """Remove what killed processes left, and a site in which a power cut left empty files."""
    left = remove_leftovers([layout.build, layout.book, layout.sources, layout.results])
    if left:
        yield f"removed {len(left)} files that an interrupted run had left"
    site = layout.root / "_build"
    if any(path.stat().st_size == 0 for kind in ("*.html", "*.doctree", "*.pickle") for path in site.rglob(kind)):
        shutil.rmtree(site)
        yield "the site was damaged and is made again"


def _stale(layout: Layout, profile: str, reach: Reach, console: Console) -> list[Path]:
    """The records that are missing, damaged or of other code, out of the way.

    Snakemake is told of them: what is missing between finished work and its sources, it would not miss.
    """
    stale = []
    for name in layout.notebooks():
        path = layout.record(name, profile)
        try:
            if _is_current(layout, name, profile, reach):
                continue
        except SourceError:
            pass  # its run will say what is wrong
        except RecordError as error:
            console.print(f"{name}: {error}; it is made again", markup=False, soft_wrap=True)
        path.unlink(missing_ok=True)
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


@dataclass(frozen=True)
class Engine:
    """How Snakemake is to run.

    ``shared``: beside other graphs of this book, of many small jobs that keep watch over each other by themselves.
    ``in_any_order``: of many small jobs, of which none comes before another; weighing them all each time is dear.
    ``profile``: a folder with Snakemake's settings for another place than this machine, a cluster say.
    """

    shared: bool = False
    in_any_order: bool = False
    profile: Path | None = None

    def arguments(self, cores: str) -> list[str]:
        if self.profile is None:
            found = ["--cores", cores, "--resources", "gpu=1"]
        else:
            found = ["--workflow-profile", str(self.profile), *(["--jobs", cores] if cores != "all" else [])]
        if self.shared:
            found += ["--nolock", "--quiet", "all"]
        else:
            found += ["--quiet", "host", "reason"]
        found += ["--scheduler", "greedy"]  # the other solves an integer program whenever a job has ended
        if self.in_any_order:
            found += ["--scheduler-subsample", "16"]
        return found


def count_of(cores: str) -> int:
    """How many cores are meant by a number, or by ``all``."""
    return (os.cpu_count() or 1) if cores == "all" else int(cores)


def run_graph(layout: Layout, targets: list[str], cores: str, engine: Engine = Engine(), **config: str) -> bool:
    """Run Snakemake in this process, where what was read of the sources need not be read again; whether all went well.

    The caller holds :func:`the_only_build`, but for a shared engine.
    """
    from snakemake.cli import main as snakemake  # half a second, which no other command has to wait for

    command = [*targets, "--snakefile", str(layout.root / "Snakefile"), "--directory", str(layout.root)]
    command += ["--config", *(f"{name}={value}" for name, value in config.items())]
    command += ["--keep-going", "--rerun-incomplete", "--rerun-triggers", "mtime", "params", "input"]
    command += engine.arguments(cores)
    try:
        snakemake(command)
    except SystemExit as end:
        return not end.code
    return True


def show_failures(failed: dict[str, str], console: Console) -> None:
    """A table of what failed, with the first line of why; where nobody looks at a screen, each on a line."""
    if not console.is_terminal:
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
        return "snakemake has said why above"
    log = max(logs, key=lambda path: path.stat().st_mtime)
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    told = [line for line in lines if _FAULT.search(line)] or lines[-1:]
    return f"{told[0] if told else 'nothing was said'} (build/{log.name})"
