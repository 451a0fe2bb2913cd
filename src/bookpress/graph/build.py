"""Making the whole book: Snakemake runs in this process, for one writer of the book at a time.

What a kill or a power cut left, and Snakemake does not notice, is put right before: files that were written aside, a
record that is cut short, a page that is missing.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from bookpress.claims.record import Record, RecordError
from bookpress.claims.registry import Registry
from bookpress.exits import Exit, Failure
from bookpress.files import SCRATCH, held, matches_manifest, remove_leftovers
from bookpress.graph.progress import ProgressHandler
from bookpress.layout import Layout
from bookpress.notebooks.dependencies import Dependencies
from bookpress.notebooks.pair import unpaired
from bookpress.notebooks.source import Notebook, SourceError

#: Names the book to what its build starts, which has the book already.
_HELD = "BOOK_HELD"

#: The SLURM executor's longest pause between two looks at the queue is 180 s, and a look may take 60 s.
_LONGEST_PAUSE = 240

#: Bytes for which a folder should have room: an executed notebook with its pictures.
_ROOM = 4_000_000


class BuildError(Failure, code=Exit.NOT_WHOLE):
    """The book cannot be made whole; the message says why."""


class Unfinished(BuildError):
    """A run of the graph ended before all was done. ``failed`` has the jobs that failed, each with the reason."""

    def __init__(self, failed: dict[str, str], fault: str | None) -> None:
        self.failed = failed
        first, *_ = [*(f"{name}: {why}" for name, why in failed.items()), "it was stopped"]
        super().__init__(f"{len(failed)} failed, what has finished is kept. {fault or first}")


@contextmanager
def the_only_build(layout: Layout) -> Iterator[bool]:
    """Hold the book for as long as this process lives, however it ends; false where a build that started it does.

    Raises:
        BuildError: another process holds it.
    """
    if os.environ.get(_HELD) == str(layout.root):
        yield False
        return
    with held(layout.lock, BuildError("another build of this book is running; nothing was done")):
        os.environ[_HELD] = str(layout.root)
        try:
            yield True
        finally:
            del os.environ[_HELD]


def build_book(layout: Layout, profile: str, cores: str, console: Console) -> None:
    """Run what has changed, bind the pages and build the site.

    Raises:
        BuildError: something failed, or another build of this book is running.
        RegistryError, ProfileError, SourceError: nothing can be run; the message names the file.
    """
    with the_only_build(layout):
        Registry.load(layout)
        dependencies = Dependencies(layout, profile)
        for line in _tidied(layout):
            console.print(line)
        with suppress(SourceError):  # the run of that notebook says what is wrong
            if off := ", ".join(unpaired(layout)):
                console.print(f"warning: the .ipynb says something else than the .py, which counts (make pair): {off}")
        stale = [str(path.relative_to(layout.root)) for path in _stale(layout, profile, dependencies, console)]
        try:
            run_graph(layout, [*stale, "build/bound", "site"], cores, profile=profile)
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

    They are targets of the graph: Snakemake does not miss a file between finished work and its sources.
    """
    stale = []
    for name in layout.notebooks():
        try:
            record = Record.of(layout, name, profile)
            if record and record.fingerprint == dependencies.fingerprint(Notebook(name, layout)):
                continue
        except SourceError:
            pass  # its run says what is wrong
        except RecordError as error:
            console.print(f"{name}: {error}; it is made again")
        stale.append(layout.record(name, profile))
        stale[-1].unlink(missing_ok=True)
    return stale


def run_graph(layout: Layout, targets: list[str], cores: str, settings: Path | None = None, **config: str) -> None:
    """Run Snakemake in this process, which need not read the sources again.

    ``settings`` is a folder of Snakemake's settings for another place than this machine, a cluster say, where ``cores``
    limits the jobs. ``config`` is for the Snakefile.

    Raises:
        Unfinished: jobs failed, or a SIGTERM asked to begin no more of them.
        BuildError: the graph itself could not be run; the message is Snakemake's.
        KeyboardInterrupt: it was interrupted; its jobs have been ended.
    """
    from snakemake.cli import main as snakemake  # half a second, which no other command has to wait for
    from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry
    from snakemake_interface_logger_plugins.registry.plugin import Plugin

    console = Console(stderr=True, highlight=False)
    progress = ProgressHandler(console, layout)
    LoggerPluginRegistry().plugins["book"] = Plugin(lambda *_: progress, None, "book")
    command = [*targets, "--snakefile", str(layout.root / "Snakefile"), "--directory", str(layout.root)]
    command += ["--config", *(f"{name}={value}" for name, value in config.items())]
    command += ["--keep-going", "--rerun-incomplete", "--rerun-triggers", "mtime", "params", "input"]
    command += ["--logger", "book", "--nolock"]  # a lock of Snakemake's would outlive a killed build
    command += ["--scheduler", "greedy"]  # the other solves an integer program whenever a job has ended
    if settings is None:
        command += ["--cores", cores, "--resources", "gpu=1"]
    else:
        command += ["--workflow-profile", str(settings), *(["--jobs", cores] if cores != "all" else [])]
    well = False
    with _jobs_end_at_interrupt(progress), suppress(KeyboardInterrupt):
        try:
            snakemake(command)
        except SystemExit as end:
            well = not end.code
    if progress.interrupted:
        console.print("interrupted: what has finished is kept, the same command goes on from here", soft_wrap=True)
        raise KeyboardInterrupt
    if not well:
        fault = fault_of_disk(layout)
        if progress.errors:
            raise BuildError(fault or " ".join(progress.errors[0].split()))
        raise Unfinished(progress.failed, fault)


@contextmanager
def _jobs_end_at_interrupt(progress: ProgressHandler) -> Iterator[None]:
    """End the jobs at an interrupt, even one that was sent to this process alone."""

    def interrupt(signum: int, frame: Any) -> None:
        progress.interrupted = True
        for child in psutil.Process().children(recursive=True):
            with suppress(ProcessLookupError, psutil.NoSuchProcess):
                if os.getpgid(child.pid) == os.getpgrp():  # the kernel server ends with this process
                    child.terminate()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def fault_of_disk(layout: Layout) -> str | None:
    """The first folder of a build that takes no more files, and why; None where all do."""
    folders = (layout.build, layout.root / ".snakemake", layout.generated, SCRATCH)
    for folder in filter(Path.exists, folders):
        try:
            with tempfile.TemporaryFile(dir=folder) as trial:
                trial.write(bytes(_ROOM))
        except OSError as error:
            return f"{folder} cannot be written: {error.strerror}"
    return None


def why_ends_are_unseen(status_command: str, first_pause: int) -> str | None:
    """Why the SLURM executor would wait without end for jobs that have ended, in one line; None where it sees them end.

    It asks ``squeue``, which forgets a job ``MinJobAge`` seconds after its end, or ``sacct``, which needs a database,
    where ``status_command`` says so or that age is less than three times ``first_pause``.
    """
    from snakemake_executor_plugin_slurm.job_status_query import get_min_job_age  # a second, which no job waits for

    age = get_min_job_age()
    if age is None:
        return "SLURM does not answer here (scontrol show config); nothing was submitted"
    if shutil.which("sacct") and (status_command == "sacct" or age < 3 * first_pause):
        command = ["sacct", "--allocations", "--noheader", "--starttime", "now"]
        if not subprocess.run(command, capture_output=True, timeout=60, check=False).returncode:
            return None
        why = "sacct has no database to ask (AccountingStorageType)"
    elif age < _LONGEST_PAUSE:
        why = f"squeue forgets a finished job after {age} s (MinJobAge), {_LONGEST_PAUSE} s are needed"
    else:
        return None
    return f"the ends of jobs would not be seen here: {why}; --slurm-status-command takes squeue or sacct"


def show_failures(failed: dict[str, str], console: Console) -> None:
    """Print what failed, each with the first line of the reason."""
    for name, why in failed.items():
        console.print(f"failed: {name}: {why.splitlines()[0]}", markup=False, soft_wrap=True)
