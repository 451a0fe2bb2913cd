"""The sweeps of full-size figures: what is done of them, what is missing, and what that would take."""

import os
import statistics
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from bookpress.layout import FULL, Layout
from bookpress.notebooks.profile import Settings, Sweep, load_profile
from bookpress.notebooks.source import Notebook
from bookpress.sweeps.points import PointRecord, Points, done_and_missing
from bookpress.sweeps.sweep import DEVICE, Point, SweepError, in_order, number_of, points_of
from bookpress.sweeps.work import Task

CPU = "cpu"
CUDA = "cuda"


@dataclass(frozen=True)
class FigureSweep:
    """One sweep of the page ``page``, with the records that there are of its points."""

    page: str
    sweep: Sweep
    points: list[Point]
    done: dict[str, PointRecord]
    missing: list[Point]
    damaged: list[str]

    def measured(self, device: str) -> list[PointRecord]:
        return [one for one in self.done.values() if _kind(one) == device]

    @cached_property
    def _planned(self) -> dict[str, float]:
        return {point.identity: number_of(self.sweep.seconds, point) for point in self.points}

    def pace(self, device: str) -> float | None:
        """How long points took on a kind of device, as a multiple of what was planned; nothing where none was made."""
        took = [
            record.seconds / self._planned[identity]
            for identity, record in self.done.items()
            if _kind(record) == device and self._planned[identity] > 0
        ]
        return statistics.median(took) if took else None

    def seconds(self, points: Iterable[Point], device: str) -> float:
        """What points would take: as planned on a core, or at the pace of those that were made on such a device."""
        return (self.pace(device) or 1.0) * sum(self._planned[point.identity] for point in points)


def figure_sweeps(layout: Layout, pages: Iterable[str] = ()) -> list[FigureSweep]:
    """The sweeps that ``full.yaml`` describes, of these pages or of all; a book without that file has none.

    Raises:
        ProfileError: the file is at fault.
        SweepError: a sweep does not fit its notebook; the message names the page.
    """
    wanted = set(pages)
    found: list[FigureSweep] = []
    described = load_profile(FULL, layout) if (layout.profiles / f"{FULL}.yaml").is_file() else {}
    for page, settings in described.items():
        if settings.sweeps and (page in wanted or not wanted):
            on_disk = Points(layout.points(page))
            found += [_with_records(page, sweep, on_disk, layout) for sweep in settings.sweeps]
    return found


def tasks_of(sweeps: Iterable[FigureSweep], device: str, layout: Layout) -> list[Task]:
    """The missing points as tasks for a kind of device, so ordered that every sweep gets on and short ones go first.

    What is for an accelerator is left to one; what is not, an accelerator takes too.
    """
    ordered = []
    for one in sweeps:
        if one.sweep.gpu and device == CPU:
            continue
        costs = [one.seconds([point], device) for point in one.missing]
        tasks = [_task(one, point, cost, device, layout) for point, cost in zip(one.missing, costs, strict=True)]
        ordered += list(zip(accumulate(costs), tasks, strict=True))
    return [task for _, task in sorted(ordered, key=lambda one: one[0])]


def tasks_again(sweeps: Iterable[FigureSweep], fingerprints: Mapping[str, str], layout: Layout) -> list[Task]:
    """The recorded points of the present code that a core can make, cheapest first, as tasks beside their records."""
    found = []
    for one in sweeps:
        of_today = [
            point
            for point in one.points
            if (record := one.done.get(point.identity))
            and record.fingerprint == fingerprints[one.sweep.notebook]
            and not one.sweep.gpu
        ]
        folder = Points(layout.again(one.page))
        found += [task_of(point, folder, one.seconds([point], CPU), one.sweep) for point in of_today]
    return sorted(found, key=lambda task: task.seconds)


def unlike(sweeps: Iterable[FigureSweep], layout: Layout) -> dict[str, str]:
    """Points that were made again and came out otherwise than on record, beyond their sweep's band."""
    found = {}
    for one in sweeps:
        anew = Points(layout.again(one.page))
        for point in one.points:
            record, other = one.done.get(point.identity), anew.of(point)
            if record is None or other is None:
                continue
            ours, theirs = (mean(each.numbers[one.sweep.number]) for each in (record, other))
            if not abs(ours - theirs) <= one.sweep.band * max(1.0, abs(ours)):
                name = f"{one.page}, {one.sweep.title}, {point.name}"
                found[name] = f"{one.sweep.number} is {theirs:g} today, {ours:g} on record"
    return found


def mean(number: float | int | bool | list[float]) -> float:
    """A reported number, over its draws where there are several."""
    return statistics.fmean(number) if isinstance(number, list) else float(number)


def task_of(point: Point, path: Points, seconds: float = 0.0, described: Sweep | Settings | None = None) -> Task:
    """A point as a task; its limits are those of its description, where there is one."""
    own = [name for name, value in point.parameters.items() if value != point.defaults[name]]
    task = Task(
        notebook=point.notebook,
        parameters=point.parameters,
        own=own,
        identity=point.identity,
        path=path.path(point),
        seconds=seconds,
    )
    if described is None:
        return task
    limits = {"minutes": described.minutes, "memory_mb": described.memory_mb, "gpu": described.gpu}
    return task.model_copy(update=limits)


def _with_records(page: str, sweep: Sweep, on_disk: Points, layout: Layout) -> FigureSweep:
    try:
        points = in_order(points_of(Notebook(sweep.notebook, layout), sweep.axes, sweep.parameters), sweep.first)
        for point in points:
            number_of(sweep.seconds, point)
            number_of(sweep.operations or "0", point)
    except SweepError as error:
        raise SweepError(f"{FULL}.yaml, {page}, '{sweep.title}': {error}") from error
    done, missing = done_and_missing(points, on_disk)
    return FigureSweep(page, sweep, points, done, missing, on_disk.damaged)


def _task(one: FigureSweep, point: Point, seconds: float, device: str, layout: Layout) -> Task:
    task = task_of(point, Points(layout.points(one.page)), seconds, one.sweep)
    return task.model_copy(
        update={"parameters": task.parameters | ({DEVICE: device} if DEVICE in task.parameters else {})}
    )


def _kind(record: PointRecord) -> str:
    return CPU if record.device == "CPU" else CUDA


def keep_priority() -> None:
    """Keep the share of this session, by which Linux divides a processor first, as low as that of its processes."""
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(os.nice(0)))
