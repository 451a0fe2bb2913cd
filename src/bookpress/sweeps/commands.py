"""The commands ``book sweep`` and ``book points``: many runs of one notebook, and the points of full-size figures."""

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bookpress.files import write_whole
from bookpress.graph.build import show_failures
from bookpress.graph.engine import BuildError
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.dependencies import Reach
from bookpress.notebooks.forkserver import keep_priority
from bookpress.notebooks.profile import load_profile
from bookpress.notebooks.source import Notebook
from bookpress.sweeps.full_size import CPU, FigureSweep, figure_sweeps, task_of, tasks_again, tasks_of, unlike
from bookpress.sweeps.points import PointRecord, Points, done_and_missing
from bookpress.sweeps.sweep import Point, axes_of, in_order, points_of
from bookpress.sweeps.work import in_words, work_off

#: How long to wait for points that another run is making, between two looks.
_SECONDS_TO_LOOK = 2.0


@dataclass(frozen=True)
class Drawn:
    """What a reader asked the picture to show: axes and a number by name, or nothing where the table is to choose."""

    across: str | None = None
    number: str | None = None
    apart: str | None = None


def run_sweep(
    layout: Layout,
    name: str,
    texts: list[str],
    console: Console,
    *,
    profile: str = LAPTOP,
    cores: str = "all",
    hours: float | None = None,
    drawn: Drawn,
    folder: Path | None = None,
    workflow_profile: Path | None = None,
) -> None:
    """Make the points of a sweep that are missing, and gather all of them into a table and a picture.

    Raises:
        SweepError: the axes do not fit the notebook; nothing was begun.
        BuildError: points failed; the table has the others.
    """
    notebook = Notebook(name, layout)
    described = load_profile(profile, layout).get(name)
    base = described.parameters if described else {}
    axes = axes_of(texts, notebook)
    points = points_of(notebook, axes, {key: value for key, value in base.items() if key not in axes})
    folder = folder or layout.sweep(name)
    fingerprint = Reach(layout, LAPTOP).fingerprint(notebook)
    made, worked = 0, None
    while True:
        found = Points(folder / "points")
        for line in found.damaged:
            console.print(f"{line}; it is made again", markup=False, soft_wrap=True)
        done, missing = done_and_missing(points, found, fingerprint)
        if worked is None:
            console.print(f"{len(done)} of {len(points)} points are there, {len(missing)} to be made")
        elif worked.failed or not worked.taken:
            break
        else:
            time.sleep(_SECONDS_TO_LOOK)  # another run is at them
        if not missing:
            break
        tasks = [task_of(point, found, described=described) for point in in_order(missing, "")]
        worked = work_off(layout, tasks, cores, hours, workflow_profile)
        made += worked.made
    if done:
        _gather(points, done, folder, drawn, console)
    _tell(made, len(missing), worked.failed if worked else {}, console)


def work_at_points(
    layout: Layout, pages: list[str], device: str, cores: str, hours: float | None, console: Console
) -> None:
    """Work off the missing points of full-size figures at low priority.

    Raises:
        BuildError: points failed.
    """
    tasks = tasks_of(figure_sweeps(layout, pages), device, layout)
    if not tasks:
        console.print(f"no point for the device '{device}' is missing")
        return
    os.nice(19)
    keep_priority()
    worked = work_off(layout, tasks, cores, hours)
    _tell(worked.made, worked.left, worked.failed, console)


def make_points_again(layout: Layout, pages: list[str], cores: str, hours: float | None, console: Console) -> None:
    """Make recorded points of the present code anew, cheapest first, and compare.

    Raises:
        BuildError: a point failed, or came out otherwise.
    """
    sweeps = figure_sweeps(layout, pages)
    reach = Reach(layout, LAPTOP)
    makers = {one.sweep.notebook for one in sweeps}
    fingerprints = {name: reach.fingerprint(Notebook(name, layout)) for name in makers}
    for page in {one.page for one in sweeps}:
        shutil.rmtree(layout.again(page), ignore_errors=True)
    tasks = tasks_again(sweeps, fingerprints, layout)
    if not tasks:
        console.print("no point on record is of the present code")
        return
    worked = work_off(layout, tasks, cores, hours)
    differing = worked.failed | unlike(sweeps, layout)
    if differing:
        show_failures(differing, console)
        raise BuildError(f"{len(differing)} of {worked.made + len(worked.failed)} points do not come out again")
    console.print(f"{worked.made} of {len(tasks)} recorded points of the present code come out again")


def list_points(layout: Layout, pages: list[str], console: Console) -> None:
    """Show, figure by figure, what is done, what is missing, and what that would take."""
    for one in figure_sweeps(layout, pages):
        for line in one.damaged:
            console.print(line, markup=False, soft_wrap=True)
        told = f"{len(one.done)} of {len(one.points)} points, {_pace(one)}; missing: {_missing(one)}"
        console.print(f"{one.page}, {one.sweep.title}\n  {told}", markup=False, soft_wrap=True)


def _pace(one: FigureSweep) -> str:
    devices = sorted({record.device for record in one.done.values()})
    told = []
    for device in devices:
        took = [record.seconds for record in one.done.values() if record.device == device]
        told.append(f"{sum(took) / len(took):.0f} s each on {device}")
    return ", ".join(told) or "none measured"


def _missing(one: FigureSweep) -> str:
    if not one.missing:
        return "none"
    how = "at the measured pace" if one.pace(CPU) else "planned"
    where = "an accelerator's; on a core " if one.sweep.gpu else ""
    return f"{len(one.missing)}: {where}{in_words(one.seconds(one.missing, CPU))}, {how}"


def _gather(points: list[Point], done: dict[str, PointRecord], folder: Path, drawn: Drawn, console: Console) -> None:
    """Write the table and the picture of what there is."""
    from bookpress.claims.show import svg_of
    from bookpress.sweeps.gather import (  # tables and pictures take a second to load
        chosen,
        picture_of,
        table_of,
        write_table,
    )

    table = table_of(points, done)
    for path in write_table(table, folder):
        console.print(f"{len(table)} rows: {path}", markup=False, soft_wrap=True)
    across, number, apart = chosen(table, points[0].axes, drawn.across, drawn.number, drawn.apart)
    picture = folder / "picture.svg"
    write_whole(picture, svg_of(picture_of(table, across, number, apart, points[0].notebook)))
    console.print(f"{number} against {across}: {picture}", markup=False, soft_wrap=True)


def _tell(made: int, left: int, failed: dict[str, str], console: Console) -> None:
    if failed:
        show_failures(failed, console)
        names = "1 point" if len(failed) == 1 else f"{len(failed)} points"
        raise BuildError(f"{names} failed, the others are kept: {', '.join(failed)}")
    goes_on = f", {left} left; the same command goes on from here" if left else ""
    console.print(f"{made} points made{goes_on}")
