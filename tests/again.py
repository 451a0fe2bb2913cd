"""Make recorded points of full-size figures once more, and compare: ``make again``."""

import argparse
import statistics
import sys

from rich.console import Console

from bookpress.graph.build import show_failures
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.dependencies import Dependencies
from bookpress.notebooks.source import Notebook
from bookpress.sweeps.figures import figure_sweeps
from bookpress.sweeps.points import PointRecord
from bookpress.sweeps.sweep import task_of, the_only_run, work_off

#: On another machine a number may differ by so much, of itself or of one.
BAND = 0.05


def make_points_again(layout: Layout, cores: str, hours: float, console: Console) -> dict[str, str]:
    """Make recorded points of the present code that a core can make, the shortest first, and name those that differ."""
    dependencies, tasks = Dependencies(layout, LAPTOP), []
    with the_only_run(layout, "again") as plan:
        for number, figure in enumerate(figure_sweeps(layout)):
            fingerprint = dependencies.fingerprint(Notebook(figure.sweep.notebook, layout))
            for point, seconds in zip(figure.points, figure.seconds(figure.points), strict=True):
                record = figure.done.get(point.identity)
                if record and record.fingerprint == fingerprint and not figure.sweep.gpu:
                    tasks.append((seconds, task_of(point, plan / f"records-{number}", figure.sweep), record, figure))
        tasks.sort(key=lambda task: task[0])
        made, _, failed = work_off(layout, plan, [task for _, task, _, _ in tasks], cores, hours)
        for _, task, record, figure in tasks:
            if task.record.is_file() and (
                words := difference(record, PointRecord.read(task.record), figure.sweep.number)
            ):
                failed[f"{figure.page}, {figure.sweep.title}, {task.record.stem}"] = words
    console.print(
        f"{made} of {len(tasks)} recorded points of the present code made again, {len(failed)} failed or differ"
    )
    return failed


def difference(before: PointRecord, now: PointRecord, number: str) -> str | None:
    """A number in two records of a point, averaged over draws, where they differ beyond the band."""
    values = [record.numbers[number] for record in (now, before)]
    ours, theirs = (statistics.fmean(value) if isinstance(value, list) else float(value) for value in values)
    differs = not abs(ours - theirs) <= BAND * max(1.0, abs(theirs))
    return f"{number} is {ours:g} today, {theirs:g} on record" if differs else None


def main() -> None:
    """Make points again for as many hours as the command line says."""
    parser = argparse.ArgumentParser(description="Make recorded points of full-size figures once more, and compare.")
    parser.add_argument("--hours", type=float, default=2.0, help="begin nothing after so many hours")
    parser.add_argument("--cores", default="all", help="how many cores to use, or 'all'")
    arguments = parser.parse_args()
    console = Console(highlight=False)
    failed = make_points_again(Layout.here(), arguments.cores, arguments.hours, console)
    show_failures(failed, console)
    sys.exit(int(bool(failed)))


if __name__ == "__main__":
    main()
