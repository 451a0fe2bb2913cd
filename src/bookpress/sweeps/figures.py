"""The sweeps of the book's full-size figures: which points are done, which are missing, and what these would take."""

import difflib
import itertools
import os
import statistics
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rich.console import Console

from bookpress.layout import FULL, Layout
from bookpress.notebooks.profile import ProfileError, Sweep, full_size
from bookpress.notebooks.source import Notebook
from bookpress.notebooks.values import ValueRefused
from bookpress.sweeps.points import Point, PointRecord, in_order, number_of, points_of, recorded
from bookpress.sweeps.sweep import Task, report_work, task_of, the_only_run, work_off


@dataclass(frozen=True)
class FigureSweep:
    """One sweep of the page ``page``: its points in the order in which they are made, the records of those done."""

    page: str
    sweep: Sweep
    points: list[Point]
    done: dict[str, PointRecord]
    missing: list[Point]

    @cached_property
    def pace(self) -> float | None:
        """How long points took on a core, as a multiple of the plan; None where no point was made on one."""
        pairs = [(self.done[point.identity], point) for point in self.points if point.identity in self.done]
        planned = [(record.seconds, number_of(self.sweep.seconds, point)) for record, point in pairs if record.on_cpu]
        ratios = [seconds / plan for seconds, plan in planned if plan > 0]
        return statistics.median(ratios) if ratios else None

    def seconds(self, points: Iterable[Point]) -> list[float]:
        """Estimate the seconds of each point on a core: at the pace of those that are done, or else as planned."""
        return [(self.pace or 1.0) * number_of(self.sweep.seconds, point) for point in points]

    def seconds_measured(self) -> dict[str, float]:
        """The mean seconds of the points that are done, by the name of the device."""
        devices = sorted({record.device for record in self.done.values()})
        return {
            device: statistics.fmean(record.seconds for record in self.done.values() if record.device == device)
            for device in devices
        }

    @property
    def left(self) -> str:
        """What the missing points would take on one core, and how that is known."""
        how = "at the measured pace" if self.pace else "as planned"
        return f"{in_words(sum(self.seconds(self.missing)))} of one core, {how}"


def figure_sweeps(layout: Layout, pages: Iterable[str] = ()) -> list[FigureSweep]:
    """The sweeps that ``full.yaml`` describes, of these pages or of all; a book without that file has none.

    Raises:
        ProfileError: the file is at fault, or a sweep in it does not fit its notebook; the message names the page.
        ValueRefused: a page that has no sweep.
    """
    sweeps = {page: settings.sweeps for page, settings in full_size(layout).items() if settings.sweeps}
    for page in pages:
        if page not in sweeps:
            near = ", ".join(difflib.get_close_matches(page, sweeps, cutoff=0.3)) or "none"
            raise ValueRefused(f"{FULL}.yaml describes no sweep for a page {page!r}; nearest: {near}")
    return [
        _figure_sweep(layout, page, sweep) for page in sweeps if page in (pages or sweeps) for sweep in sweeps[page]
    ]


def _figure_sweep(layout: Layout, page: str, sweep: Sweep) -> FigureSweep:
    try:
        points = in_order(points_of(Notebook(sweep.notebook, layout), sweep.axes, sweep.parameters), sweep.first)
        for point in points:
            number_of(sweep.seconds, point)
    except (ValueRefused, ProfileError) as error:
        raise ProfileError(f"{FULL}.yaml, {page}, '{sweep.title}': {error}") from error
    return FigureSweep(page, sweep, points, *recorded(points, layout.points(page)))


def list_points(layout: Layout, pages: list[str], console: Console) -> None:
    """Print for each figure the points that are done, those that are missing, and what these would take."""
    for figure in figure_sweeps(layout, pages):
        pace = ", ".join(f"{seconds:.0f} s each on {device}" for device, seconds in figure.seconds_measured().items())
        needed = f"{len(figure.missing)}: {figure.left}" + ", for an accelerator" * figure.sweep.gpu
        line = f"{len(figure.done)} of {len(figure.points)} points, {pace or 'none measured'}"
        console.print(f"{figure.page}, {figure.sweep.title}\n  {line}; missing: {needed if figure.missing else 'none'}")


def work_at_points(layout: Layout, pages: list[str], device: str, cores: str, hours: float, console: Console) -> None:
    """Make the missing points of full-size figures at low priority.

    Raises:
        BuildError: points failed, or another run is making points.
    """
    with the_only_run(layout, "points") as plan:
        tasks = tasks_of(figure_sweeps(layout, pages), device, layout)
        if not tasks:
            console.print(f"no point for the device '{device}' is missing")
            return
        nice = os.nice(19)
        with suppress(OSError):  # Linux divides a processor by sessions first, and this one counts as much as its jobs
            Path("/proc/self/autogroup").write_text(str(nice))
        made, left, failed = work_off(layout, plan, tasks, cores, hours)
    report_work(made, left, failed, console)


def tasks_of(sweeps: Iterable[FigureSweep], device: str, layout: Layout) -> list[Task]:
    """The missing points as tasks for a kind of device, short ones first, in an order in which every sweep gets on.

    Points that need an accelerator are left to one, which takes the others too.
    """
    ordered: list[tuple[float, Task]] = []
    for figure in sweeps:
        if not (figure.sweep.gpu and device == "cpu"):
            tasks = [task_of(point, layout.points(figure.page), figure.sweep, device) for point in figure.missing]
            ordered += zip(itertools.accumulate(figure.seconds(figure.missing)), tasks, strict=True)
    return [task for _, task in sorted(ordered, key=lambda each: each[0])]


def in_words(seconds: float) -> str:
    """A duration in words."""
    for size, name in ((365 * 86400.0, "years"), (86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {name}" if seconds >= 10 * size else f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s"
