"""Progress of a run of the graph: one display in a terminal, elsewhere one line for each finished job.

Snakemake's own words go to its log file. How long each job took is kept for the next run, which computes from it the
time that is left.
"""

import json
import logging
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column

from bookpress.exits import Exit
from bookpress.files import write_whole
from bookpress.layout import Layout

#: The message with which a command of the press fails.
_MESSAGE = re.compile(rf"^(?:{'|'.join(code.name.lower().replace('_', ' ') for code in Exit)}): (.*)$", re.MULTILINE)
#: A line of another program that says what is wrong; the names of settings among them have these words as parts.
_FAULT = re.compile(r"\b(WARNING|ERROR|[A-Za-z]*Error|fault|[A-Za-z]*Exception)\b")
#: SLURM's words in a job's log when the job outgrew its memory or its time, or was cancelled.
_ENDED = re.compile(r"^slurmstepd\S*: error: (.*)$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class ProgressHandler(logging.Handler):
    """A handler of Snakemake's events, in the form of its logger plugins.

    The Snakefile announces the names of the jobs at the start, in a record with the attribute ``needed``.
    """

    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __init__(self, console: Console, layout: Layout) -> None:
        super().__init__()
        self.interrupted = False
        #: The names of failed jobs, each with the reason.
        self.failed: dict[str, str] = {}
        #: Snakemake's own errors before any job; after that it only sums up what the jobs did.
        self.errors: list[str] = []
        self._console = console
        self._root = layout.root
        self._history = layout.seconds
        self._seconds: dict[str, float] = {}
        with suppress(OSError, ValueError, TypeError, AttributeError):  # there is no history yet, or it is damaged
            history = json.loads(self._history.read_text(encoding="utf-8"))
            self._seconds = {name: float(seconds) for name, seconds in history.items()}
        self._pending: set[str] = set()
        self._running: dict[int, Any] = {}
        self._bar = Progress(
            MofNCompleteColumn(),
            BarColumn(20),
            TextColumn("{task.fields[left]}{task.description}", markup=False, table_column=Column(no_wrap=True)),
            console=console,
            transient=True,
            disable=not console.file.isatty(),  # which FORCE_COLOR does not make a terminal
        )
        self._task = self._bar.add_task("", total=0, left="")

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
                self._running[record.jobid] = record
            case "job_finished":
                self._end(record.job_id, record.created)
            case "job_error" if not self.interrupted:
                self._end(record.jobid, None)
            case "error" if not self._bar.tasks[self._task].total:
                self.errors.append(record.getMessage())
            case _ if hasattr(record, "needed"):
                self._begin(record.needed)
            case _:
                return
        names = ", ".join(map(_name, self._running.values()))
        self._bar.update(self._task, description=names, left=self._time_left(record.created))

    def _begin(self, needed: list[str]) -> None:
        self._pending = set(needed)
        self._bar.update(self._task, total=len(needed))
        self._bar.start()
        handlers = logging.getLogger("snakemake.logging").handlers
        files = [Path(handler.baseFilename) for handler in handlers if isinstance(handler, logging.FileHandler)]
        logs = ", ".join(str(file.relative_to(self._root)) for file in files)
        self._print(f"jobs to run: {len(needed)}, details in {logs}")

    def _end(self, number: int, now: float | None) -> None:
        """Count a job that has finished now, or that failed where there is no time."""
        job = self._running.pop(number)
        self._pending.discard(_name(job))
        self._bar.advance(self._task)
        name, task = _name(job), self._bar.tasks[self._task]
        if now is None:
            self.failed[name] = reason_in(Path(job.log[0])) if job.log else "it has no log"
            self._print(f"failed: {name}: {self.failed[name]}")
            return
        self._seconds[name] = round(now - job.created, 1)
        if self._bar.disable:
            self._print(f"{task.completed:.0f} of {task.total:.0f}: {name}, {now - job.created:.1f} s")

    def _time_left(self, now: float) -> str:
        """The time left, from the seconds of earlier runs, if as many jobs run side by side as now."""
        if not self._seconds:
            return ""
        usual = sum(self._seconds.values()) / len(self._seconds)
        due = sum(self._seconds.get(name, usual) for name in self._pending)
        due -= sum(min(now - job.created, self._seconds.get(_name(job), usual)) for job in self._running.values())
        minutes = due / 60 / max(1, len(self._running))
        return f"{minutes:.0f} min left: " if minutes > 1 else "< 1 min left: "

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


def last_words(root: Path, rule: str, wildcards: str) -> str | None:
    """SLURM's reason for ending a job's last run, from the job's log; None where it did not end it."""
    folder = root / ".snakemake" / "slurm_logs" / f"rule_{rule}" / wildcards.replace("/", "_")
    logs = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
    ended = _ENDED.search(logs[-1].read_text(encoding="utf-8", errors="replace")) if logs else None
    return ended[1].strip("* ") if ended else None


def reason_in(log: Path) -> str:
    """The line of a failed job's output that says why: the press's message, or another program's first fault."""
    text = _COLOUR.sub("", log.read_text(encoding="utf-8", errors="replace")) if log.is_file() else ""
    faults = [line for line in text.split("\n") if _FAULT.search(line)]
    why = _MESSAGE.findall(text)[-1:] or faults[:1] or ["it did not come to its end (killed, or the machine stopped)"]
    return f"{why[0].strip()} ({log})"


def _name(job: Any) -> str:
    return str(job.rule_msg or job.rule_name)
