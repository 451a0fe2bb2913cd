"""Progress of a run of the graph: one display in a terminal, elsewhere one line for each finished job.

Snakemake's own words go to its log file. How long each job took is kept for the next run, which computes from it the
time that is left.
"""

import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebooks.run import Exit

_SECONDS_A_MINUTE = 60

#: How a command of the press begins the message with which it fails.
_MESSAGE = re.compile(rf"^(?:{'|'.join(code.name.lower().replace('_', ' ') for code in Exit)}): ", re.MULTILINE)


@dataclass
class _Job:
    """A job that runs: its name, when it began, and the file its output goes to."""

    name: str
    began: float
    log: Path | None


class ProgressHandler(logging.Handler):
    """A handler of Snakemake's events, in the form of its logger plugins.

    In the folder ``build`` of the book is kept how many seconds each job took when it was last run.
    """

    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __init__(self, console: Console, layout: Layout) -> None:
        super().__init__()
        #: Whether jobs fail because the run was interrupted.
        self.interrupted = False
        #: The names of failed jobs, each with its reason.
        self.failed: dict[str, str] = {}
        #: Snakemake's own errors.
        self.errors: list[str] = []
        self._console = console
        self._root = layout.root
        self._history = layout.build / "seconds.json"
        self._seconds = _read_seconds(self._history)
        self._pending: set[str] = set()
        self._running: dict[int, _Job] = {}
        self._bar = Progress(
            MofNCompleteColumn(),
            BarColumn(20),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not is_watched(console),
        )
        self._task = self._bar.add_task("", total=None, left="")

    def emit(self, record: logging.LogRecord) -> None:
        """Show an event. Where nobody reads any more, the run goes on in silence."""
        try:
            self._show(record)
        except (OSError, SystemExit):  # rich turns a closed pipe into an exit
            self._console.quiet = True

    def close(self) -> None:
        """Take the display away and keep the seconds."""
        self._bar.stop()
        if self._seconds:
            write_whole(self._history, json.dumps(self._seconds, indent=0, sort_keys=True))
        super().close()

    def _show(self, record: Any) -> None:
        match getattr(record, "event", None):
            case "job_info":
                name, log = record.rule_msg or record.rule_name, record.log
                self._running[record.jobid] = _Job(name, record.created, Path(log[0]) if log else None)
            case "job_finished":
                self._finish(record)
            case "job_error" if not self.interrupted:
                self._fail(record)
            case _ if hasattr(record, "needed"):
                self._begin(record.needed)
            case "error":
                self.errors.append(record.getMessage())
            case _:
                return
        self._update(record.created)

    def _begin(self, needed: list[str]) -> None:
        self._pending = set(needed)
        self._bar.update(self._task, total=len(needed))
        self._bar.start()
        handlers = logging.getLogger("snakemake.logging").handlers
        files = [Path(handler.baseFilename) for handler in handlers if isinstance(handler, logging.FileHandler)]
        jobs = "1 job" if len(needed) == 1 else f"{len(needed)} jobs"
        self._print(f"{jobs} to run, details in {', '.join(str(file.relative_to(self._root)) for file in files)}")

    def _finish(self, record: Any) -> None:
        job = self._running.pop(record.job_id)
        seconds = record.created - job.began
        self._seconds[job.name] = round(seconds, 1)
        self._count(job.name)
        if self._bar.disable:
            total = self._bar.tasks[self._task].total or 0
            self._print(f"{total - len(self._pending):.0f} of {total:.0f}: {job.name}, {seconds:.1f} s")

    def _fail(self, record: Any) -> None:
        job = self._running.pop(record.jobid)
        self._count(job.name)
        self.failed[job.name] = reason_in(job.log) if job.log else ""
        why = self.failed[job.name].split("\n")[0] or "no reason was given"
        self._print(f"failed: {job.name}: {why}")

    def _count(self, name: str) -> None:
        self._pending.discard(name)
        self._bar.advance(self._task)

    def _update(self, now: float) -> None:
        names = ", ".join(job.name for job in self._running.values())
        self._bar.update(self._task, description=names, left=self._time_left(now))

    def _time_left(self, now: float) -> str:
        """The time left, from the seconds of earlier runs, if as many jobs run side by side as now."""
        usual = sum(self._seconds.values()) / max(1, len(self._seconds))
        due = sum(self._seconds.get(name, usual) for name in self._pending)
        done = sum(min(now - job.began, self._seconds.get(job.name, usual)) for job in self._running.values())
        seconds = (due - done) / max(1, len(self._running))
        if not usual:
            return ""
        return "< 1 min left" if seconds < _SECONDS_A_MINUTE else f"{seconds / _SECONDS_A_MINUTE:.0f} min left"

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


def is_watched(console: Console) -> bool:
    """Whether the console is a terminal, whatever variables such as FORCE_COLOR say."""
    return console.file.isatty()


def reason_in(log: Path) -> str:
    """Why a command of the press failed, as it says at the end of its output; nothing where it does not."""
    if not log.is_file():
        return ""
    text = log.read_text(encoding="utf-8", errors="replace")
    messages = list(_MESSAGE.finditer(text))
    return text[messages[-1].end() :].strip() if messages else ""


def _read_seconds(history: Path) -> dict[str, float]:
    try:
        content = json.loads(history.read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # there is none yet, or it is damaged: the time left is then not known
