"""Running a sweep: its missing points are made by the graph, one job each, and all of them gathered.

The records alone say which points are done, whatever was killed. The graph sees a token per job in place of them,
because a record is found by its parameters and not by its name.
"""

import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter
from rich.console import Console

from bookpress.claims.evidence import Role
from bookpress.claims.record import claims_in
from bookpress.claims.registry import Registry
from bookpress.exits import Exit
from bookpress.files import digest, held, remove_leftovers, write_whole
from bookpress.graph.build import BuildError, Unfinished, run_graph, show_failures
from bookpress.graph.progress import last_words, reason_in
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.dependencies import Dependencies
from bookpress.notebooks.profile import POINT_MINUTES, Limits, load_profile
from bookpress.notebooks.run import MEMORY, PROCESSOR, USE, RunFailed, run_for_record
from bookpress.notebooks.source import Notebook
from bookpress.notebooks.values import ValueRefused, axes_of
from bookpress.sweeps.points import DEVICE, Point, PointRecord, in_order, points_of, recorded


class Task(BaseModel):
    """A point to be made, the path of its record, and its limits."""

    point: Point
    record: Path
    limits: Limits


#: A plan: the tasks by their numbers, in the order in which they are to begin. The Snakefile reads it as plain JSON.
_PLAN = TypeAdapter(dict[str, Task])


def task_of(point: Point, folder: Path, limits: Limits, device: str | None = None) -> Task:
    """The task of a point whose record goes into a folder."""
    if device and DEVICE in point.parameters:
        point = replace(point, parameters=point.parameters | {DEVICE: device})
    return Task(point=point, record=folder / f"{point.name}.json", limits=limits)


def run_sweep(
    layout: Layout,
    name: str,
    texts: list[str],
    console: Console,
    shown: tuple[str | None, str | None, str | None],
    profile: str,
    folder: Path | None,
    **work: Any,
) -> None:
    """Make the points of a reader's sweep that are missing, and gather all of them into a table and a picture.

    ``shown`` are the columns of the picture, as far as they are given, in the order of :func:`choose_columns`; ``work``
    are the options of :func:`work_off`.

    Raises:
        ValueRefused: an axis, a value or a number that the notebook does not have; nothing was begun.
        OSError: the folder cannot be written; nothing was begun.
        BuildError: points failed, and the table has the others; or another run is making points of this sweep.
    """
    from bookpress.claims.show import svg_of
    from bookpress.sweeps.table import choose_columns, picture_of, table_of  # tables and pictures take a second to load

    notebook = Notebook(name, layout)
    limits: Limits = load_profile(profile, layout).get(name) or Limits(minutes=POINT_MINUTES)
    axes = axes_of(texts, notebook)
    points = points_of(notebook, axes, {key: value for key, value in limits.parameters.items() if key not in axes})
    across, number, apart = shown
    if unknown := {across, apart} - {None, *axes}:
        raise ValueRefused(f"there is no axis {unknown.pop()!r}; there are: {', '.join(axes)}")
    claims = Registry.load(layout).of_notebook(name)
    if number and number not in notebook.reported and number.partition(": ")[0] not in claims:
        given = [*notebook.reported, *(f"{claim}: LABEL" for claim in claims)]
        raise ValueRefused(f"there is no number {number!r} to draw; there are: {', '.join(given) or 'none'}")
    folder = (folder or layout.sweep(name)).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()  # what cannot be written is found before the run
    fingerprint = Dependencies(layout, LAPTOP).fingerprint(notebook)
    with the_only_run(layout, f"sweep-{digest(str(folder.resolve()))}") as plan:
        done, missing = recorded(points, folder / "points", fingerprint)
        console.print(f"{len(done)} of {len(points)} points are there, {len(missing)} to be made")
        tasks = [task_of(point, folder / "points", limits) for point in in_order(missing)]
        made, left, failed = work_off(layout, plan, tasks, **work)
        done, _ = recorded(points, folder / "points", fingerprint)
        if done:
            table, picture = table_of(points, done), folder / "picture.svg"
            write_whole(folder / "table.csv", table.write_csv())
            console.print(f"{len(table)} rows: {folder / 'table.csv'}")
            across, number, apart = choose_columns(table, [*axes], across, number, apart)
            write_whole(picture, svg_of(picture_of(table, across, number, apart)))
            console.print(f"{number} against {across}: {picture}")
    report_work(made, left, failed, console)


def report_work(made: int, left: int, failed: dict[str, str], console: Console) -> None:
    """Print how many points were made and how many are left.

    Raises:
        BuildError: points failed.
    """
    if failed:
        show_failures(failed, console)
        raise BuildError(f"{len(failed)} failed, the other points are kept: {', '.join(failed)}")
    console.print(f"{made} points made" + (f", {left} left; the same command goes on from here" if left else ""))


@contextmanager
def the_only_run(layout: Layout, name: str) -> Iterator[Path]:
    """Hold a plan for as long as this process lives, however it ends, and yield an empty folder for it.

    Raises:
        BuildError: another process holds it.
    """
    folder = layout.plan(name)
    refusal = BuildError("another run is making these points; this one did nothing")
    with held(folder.with_suffix(".lock"), refusal), ExitStack() as at_the_end:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        at_the_end.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def work_off(
    layout: Layout, plan: Path, tasks: list[Task], cores: str, hours: float, workflow_profile: Path | None = None
) -> tuple[int, int, dict[str, str]]:
    """Make points in their order on the given cores, or where a Snakemake profile says; after ``hours`` begin no more.

    Returns:
        The number of points made, the number left, and the reason for each that failed.

    Raises:
        BuildError: the graph could not be run.
    """
    if not tasks:
        return 0, 0, {}
    numbered = {f"{number:05}": task for number, task in enumerate(tasks)}
    remove_leftovers({task.record.parent for task in tasks})
    (plan / "plan.json").write_bytes(_PLAN.dump_json(numbered))
    timer = threading.Timer(3600 * hours, _begin_no_more)
    timer.daemon = True
    timer.start()
    try:
        with suppress(Unfinished):
            run_graph(layout, ["points"], cores, workflow_profile and workflow_profile.absolute(), plan=plan.name)
    finally:
        timer.cancel()
    made, begun = ({path.stem for path in plan.glob(f"*.{kind}")} for kind in ("done", "log"))
    failed = {}
    for number in sorted(begun - made):
        why = last_words(layout.root, "point", f"{plan.name}_{number}") or reason_in(plan / f"{number}.log")
        failed[numbered[number].record.stem] = why
    return len(made), len(tasks) - len(made) - len(failed), failed


def make_point(layout: Layout, plan: str, number: str) -> None:
    """Make one point of a plan, as a job of the graph.

    Raises:
        RunFailed: its notebook ended early, or reports a number by the name of a parameter.
    """
    folder = layout.plan(plan)
    task = _PLAN.validate_json((folder / "plan.json").read_bytes())[number]
    point, source = task.point, Notebook(task.point.notebook, layout)
    executed, fields = run_for_record(source, point.parameters, task.limits, LAPTOP, folder / number, point.changed)
    settled, use = claims_in(executed), executed.metadata.get(USE, {})
    verdicts = {claim.claim: claim.verdict for claim in settled}
    record = PointRecord(**fields, verdicts=verdicts, memory_mb=use.get(MEMORY))
    if same := sorted(record.numbers.keys() & point.parameters.keys()):
        raise RunFailed(Exit.FAILED_CELL, f"{point.notebook} reports a number by the name of a parameter: {same[0]}")
    record.numbers |= {
        f"{claim.claim}: {item.label}": item.measured
        for claim in settled
        for item in claim.evidence
        if item.role is not Role.CONTROL and not isinstance(item.measured, str)
    }
    if record.on_cpu:  # at low priority, wall time counts the work of other programs
        record.seconds = use.get(PROCESSOR, record.seconds)
    record.write(task.record)


def _begin_no_more() -> None:
    """Let Snakemake end after the jobs that it has begun, as it does at a first SIGTERM.

    Its handler takes a lock that the main thread may hold: a signal would stop both, a call from a thread waits.
    """
    while not callable(handler := signal.getsignal(signal.SIGTERM)):
        time.sleep(0.1)  # it does not listen yet
    handler(signal.SIGTERM, None)
