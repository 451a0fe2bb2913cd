"""Working off points: one job of the graph a point, shared among all who work at them, stopped and taken up at will.

A plan lists the points that are to be made. What a job leaves for the graph is a token beside the plan; what a point
found is its record, which is written whole or not at all. So it is the records that say what is done, whatever was
killed; and two who work at the same points hold a lock on each that they make, which the system opens when they end.
"""

import fcntl
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import psutil
from pydantic import BaseModel

from bookpress.claims.evidence import Role
from bookpress.claims.provenance import commit_of
from bookpress.claims.record import RecordError, claims_in, environment_in, numbers_in
from bookpress.files import HOST, remove_leftovers, write_whole
from bookpress.graph.cluster import last_words
from bookpress.graph.engine import Unfinished, run_graph
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.capped import MEMORY, PROCESSOR
from bookpress.notebooks.dependencies import Reach
from bookpress.notebooks.profile import Settings
from bookpress.notebooks.run import Exit, RunFailed, execute
from bookpress.notebooks.source import Notebook
from bookpress.sweeps.points import PointRecord
from bookpress.sweeps.sweep import DEVICE


class Task(BaseModel):
    """A point to be made: what is set, where its record goes, and what it needs."""

    notebook: str
    parameters: dict[str, Any]
    own: list[str]
    identity: str
    path: Path
    seconds: float = 0.0
    minutes: float = 60.0
    memory_mb: int = 4000
    gpu: bool = False


class Plan(BaseModel):
    """Points in the order in which they are to be begun. ``until`` is a time after which none is begun."""

    tasks: dict[str, Task]
    fingerprints: dict[str, str]
    read_at: int
    cores: int
    until: float | None = None


class State(StrEnum):
    """What became of a point in one plan."""

    MADE = "made"
    FOUND = "found"
    TAKEN = "taken"
    NO_TIME = "no time"


class Token(BaseModel):
    """What a job leaves for the graph."""

    state: State
    seconds: float


@dataclass(frozen=True)
class Worked:
    """How a plan came out: how many of its points were begun and made here, and why those failed that did."""

    begun: int
    made: int
    found: int
    taken: int
    left: int
    failed: dict[str, str]


def work_off(
    layout: Layout, tasks: list[Task], cores: str, hours: float | None = None, workflow_profile: Path | None = None
) -> Worked:
    """Make the points, in their order, on the cores there are; after ``hours`` those begun are the last.

    With a Snakemake profile they are made where it says, ``cores`` at a time.

    Raises:
        SourceError: a notebook or a module of the package cannot be read.
        BuildError: the graph itself could not be run.
    """
    remove_leftovers([layout.build, *{task.path.parent for task in tasks}])
    until = None if hours is None else time.time() + 3600 * hours
    reach = Reach(layout, LAPTOP)
    notebooks = {task.notebook for task in tasks}
    plan = Plan(
        tasks={f"{number:05}": task for number, task in enumerate(tasks)},
        read_at=time.time_ns(),
        fingerprints={name: reach.fingerprint(Notebook(name, layout)) for name in notebooks},
        cores=(os.cpu_count() or 1) if cores == "all" else int(cores),
        until=until,
    )
    with _plan_folder(layout, plan) as folder:
        with _stopping_at(until), suppress(Unfinished):
            run_graph(layout, ["points"], cores, workflow_profile, plan=folder.name)
        return _outcome(layout, folder, plan)


def make_point(layout: Layout, plan_name: str, number: str) -> str:
    """Make one point of a plan, unless it is there or somebody is making it, and say in a line what became of it.

    Raises:
        RunFailed: its notebook ended early; why is kept beside the plan.
    """
    folder = layout.plan(plan_name)
    plan = Plan.model_validate_json((folder / "plan.json").read_text(encoding="utf-8"))
    task = plan.tasks[number]
    (folder / f"{number}.begun").touch()
    started = time.perf_counter()
    with _the_only_maker(layout, task.identity) as mine:
        if not mine:
            state = State.TAKEN
        elif _is_made(task, plan):
            state = State.FOUND
        elif plan.until is not None and time.time() + task.seconds > plan.until:
            state = State.NO_TIME
        else:
            state = State.MADE
            try:
                _make(layout, task, plan, folder / number)
            except RunFailed as failure:
                write_whole(folder / f"{number}.failed.txt", f"{failure}\n")
                raise
    token = Token(state=state, seconds=round(time.perf_counter() - started, 2))
    write_whole(folder / f"{number}.done", token.model_dump_json() + "\n")
    return "" if state is State.NO_TIME else f"{task.path.stem}: {_said(token)}; {_progress(folder, plan)}"


def _make(layout: Layout, task: Task, plan: Plan, target: Path) -> None:
    """Run the notebook and write the record."""
    source = Notebook(task.notebook, layout)
    fingerprint = plan.fingerprints[task.notebook]
    if _newest(layout, source) > plan.read_at:  # something was edited since the plan was made
        fingerprint = Reach(layout, LAPTOP).fingerprint(source)
    started = time.perf_counter()
    settings = Settings(minutes=task.minutes, gpu=task.gpu)
    executed = execute(source, task.parameters, settings, LAPTOP, target, task.own)
    seconds, notes = time.perf_counter() - started, executed.metadata.get("papermill", {})
    settled, numbers = claims_in(executed), numbers_in(executed)
    if same := sorted(numbers.keys() & task.parameters.keys()):
        raise RunFailed(Exit.FAILED_CELL, f"{task.notebook} reports a number by the name of a parameter: {same[0]}")
    numbers |= {
        f"{one.claim}: {item.label}": item.measured
        for one in settled
        for item in one.evidence
        if item.role is not Role.CONTROL and not isinstance(item.measured, str)
    }
    environment = environment_in(executed)
    if environment.get(DEVICE) == "CPU":  # at low priority the clock on the wall tells of what ran beside it
        seconds = notes.get(PROCESSOR, seconds)
    PointRecord(
        notebook=task.notebook,
        parameters=task.parameters,
        numbers=numbers,
        verdicts={one.claim: one.verdict for one in settled},
        fingerprint=fingerprint,
        commit=commit_of(layout.root),
        environment=environment,
        seconds=round(seconds, 2),
        memory_mb=notes.get(MEMORY),
    ).write(task.path)


def _newest(layout: Layout, source: Notebook) -> int:
    """When the youngest file that a run may read was last written."""
    files = [*layout.packages.rglob("*.py"), *layout.claims.glob("*.yaml"), source.path]
    return max(path.stat().st_mtime_ns for path in files)


def _is_made(task: Task, plan: Plan) -> bool:
    """Whether somebody has made the point since the plan was drawn up."""
    try:
        return PointRecord.read(task.path).fingerprint == plan.fingerprints[task.notebook]
    except (OSError, RecordError):  # missing or damaged: it is to be made
        return False


@contextmanager
def _the_only_maker(layout: Layout, identity: str) -> Iterator[bool]:
    """Whether nobody else is making this point; nobody will be before the end of the block."""
    path = layout.plan("locks") / identity
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


@contextmanager
def _plan_folder(layout: Layout, plan: Plan) -> Iterator[Path]:
    """A folder for one plan and its tokens, removed at its end; so are those of plans killed on this machine."""
    plans = layout.plan("locks").parent
    for old in plans.glob(f"of-{HOST}-*"):
        if not psutil.pid_exists(int(old.name.rpartition("-")[2])):
            shutil.rmtree(old, ignore_errors=True)
    folder = layout.plan(f"of-{HOST}-{os.getpid()}")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "plan.json", plan.model_dump_json())
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _stopping_at(until: float | None) -> Iterator[None]:
    """At the time ``until``, ask the graph to begin nothing more: what a first SIGTERM means to it."""
    if until is None:
        yield
        return
    timer = threading.Timer(max(0.0, until - time.time()), os.kill, (os.getpid(), signal.SIGTERM))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tokens(folder: Path) -> dict[str, Token]:
    return {path.stem: Token.model_validate_json(path.read_text()) for path in folder.glob("*.done")}


def _progress(folder: Path, plan: Plan) -> str:
    """How many points are done, and how long the others will take if they take as long as planned, or as these did."""
    tokens = _tokens(folder)
    made = [(plan.tasks[number], token.seconds) for number, token in tokens.items() if token.state is State.MADE]
    left = [task for number, task in plan.tasks.items() if number not in tokens]
    line = f"{len(tokens)} of {len(plan.tasks)} done"
    planned = sum(task.seconds or 1.0 for task, _ in made)
    if not left or not planned:
        return line
    pace = sum(seconds for _, seconds in made) / planned
    return f"{line}, about {in_words(pace * sum(task.seconds or 1.0 for task in left) / plan.cores)} left"


def _said(token: Token) -> str:
    return f"{token.seconds:.1f} s" if token.state is State.MADE else f"{token.state} by another run"


def in_words(seconds: float) -> str:
    """A span of time as one would say it."""
    for size, name in ((365 * 86400.0, "years"), (86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {name}" if seconds >= 10 * size else f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s"


def _outcome(layout: Layout, folder: Path, plan: Plan) -> Worked:
    tokens = _tokens(folder)
    states = [token.state for token in tokens.values()]
    failed = {}
    for number, task in plan.tasks.items():
        told = folder / f"{number}.failed.txt"
        ended = last_words(layout.root, "point", f"{folder.name}_{number}")
        if number not in tokens and (ended or (folder / f"{number}.begun").is_file()):
            killed = ended or "it did not come to its end (killed, out of memory, or the machine stopped)"
            failed[task.path.stem] = told.read_text(encoding="utf-8").strip() if told.is_file() else killed
    return Worked(
        begun=len(list(folder.glob("*.begun"))),
        made=states.count(State.MADE),
        found=states.count(State.FOUND),
        taken=states.count(State.TAKEN),
        left=len(plan.tasks) - states.count(State.MADE) - states.count(State.FOUND) - len(failed),
        failed=failed,
    )


def load_plan(layout: Layout, name: str) -> dict[str, dict[str, Any]]:
    """What the graph has to know of every point of a plan: its order and its needs."""
    content = json.loads((layout.plan(name) / "plan.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = content["tasks"]
    return found
