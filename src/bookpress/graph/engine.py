"""Snakemake, run in this process: by one build of the book at a time, to an end that is said in plain words."""

import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from bookpress.graph.progress import ProgressHandler
from bookpress.layout import Layout

#: Set for what a build starts: it has the book already.
_BUILDER = "BOOK_BUILDER"

#: Bytes for which a folder should have room: an executed notebook with its pictures.
_ROOM = 4_000_000


class BuildError(Exception):
    """The book cannot be made whole; the message says why."""


@dataclass(frozen=True)
class Engine:
    """How Snakemake is to run.

    ``shared``: next to other graphs of this book, of many small jobs that keep watch over each other.
    ``in_any_order``: of many small jobs, of which none comes before another; weighing them all each time is slow.
    ``profile``: a folder with Snakemake's settings for another place than this machine, a cluster say.
    """

    shared: bool = False
    in_any_order: bool = False
    profile: Path | None = None

    def arguments(self, cores: str) -> list[str]:
        """Snakemake's options for a number of cores, or for ``all``."""
        if self.profile is None:
            options = ["--cores", cores, "--resources", "gpu=1"]
        else:
            options = ["--workflow-profile", str(self.profile), *(["--jobs", cores] if cores != "all" else [])]
        options += ["--nolock"] if self.shared else []
        options += ["--scheduler", "greedy"]  # the other solves an integer program whenever a job has ended
        options += ["--scheduler-subsample", "16"] if self.in_any_order else []
        return options


def count_of(cores: str) -> int:
    """The number of cores that is meant by a number, or by ``all``."""
    return (os.cpu_count() or 1) if cores == "all" else int(cores)


@contextmanager
def the_only_writer(layout: Layout) -> Iterator[None]:
    """Hold the book for as long as this process lives, however it ends. A command that a build starts has it already.

    Raises:
        BuildError: another process holds it.
    """
    if _BUILDER in os.environ:
        yield
        return
    layout.build.mkdir(exist_ok=True)
    with (layout.build / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError("another build of this book is running; nothing was done") from None
        os.environ[_BUILDER] = str(os.getpid())
        try:
            yield
        finally:
            del os.environ[_BUILDER]


@contextmanager
def the_only_build(layout: Layout) -> Iterator[None]:
    """Hold the book for a run of the graph, and put away a lock of Snakemake's that nobody holds.

    Raises:
        BuildError: another process holds the book, or Snakemake was started here by hand.
    """
    with the_only_writer(layout):
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


def run_graph(layout: Layout, targets: list[str], cores: str, engine: Engine = Engine(), **config: str) -> bool:
    """Run Snakemake in this process, which need not read the sources again; whether every job went well.

    The caller holds :func:`the_only_build`, except for a shared engine.

    Raises:
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
    command += ["--logger", "book", *engine.arguments(cores)]
    with _jobs_end_at_interrupt(progress):
        try:
            snakemake(command)
        except SystemExit as end:
            well = not end.code
        except KeyboardInterrupt:
            well = False
    if progress.interrupted:
        console.print("interrupted: what has finished is kept, the same command goes on from here", soft_wrap=True)
        raise KeyboardInterrupt
    if not well and progress.errors and not progress.failed:
        raise BuildError(fault_of_disk(layout) or " ".join(progress.errors[0].split()))
    return well


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
    for folder in (layout.build, layout.root / ".snakemake", layout.generated, Path(tempfile.gettempdir())):
        if not folder.exists():
            continue
        try:
            with tempfile.TemporaryFile(dir=folder) as trial:
                trial.write(bytes(_ROOM))
        except OSError as error:
            return f"{folder} cannot be written: {error.strerror}"
    return None
