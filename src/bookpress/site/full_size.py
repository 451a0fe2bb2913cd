"""What the book shows of full-size figures: the points there are on a figure's page, and what all of it costs."""

from collections.abc import Iterable
from typing import Any

from bookpress.claims.intervals import CONFIDENCE
from bookpress.claims.record import Record
from bookpress.claims.show import svg_of
from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebooks.profile import Settings
from bookpress.site.page import figure_block, table_row
from bookpress.sweeps.best_of import Gap, gaps_at_best
from bookpress.sweeps.full_size import CPU, FigureSweep
from bookpress.sweeps.gather import chosen, picture_of, table_of
from bookpress.sweeps.sweep import number_of
from bookpress.sweeps.work import in_words


def points_section(sweeps: list[FigureSweep], fingerprints: dict[str, str], layout: Layout) -> str:
    """The pictures of a page's sweeps from the points there are, and what is missing; nothing where it has no sweep."""
    if not sweeps:
        return ""
    parts = ["## Point by point"]
    for number, one in enumerate(sweeps):
        parts.append(f"**{one.sweep.title}.** {_state(one, fingerprints[one.sweep.notebook])}")
        if len({point.parameters[one.sweep.across] for point in one.points if point.identity in one.done}) > 1:
            parts += [_picture(one, number, layout), *_compared(one)]
    parts.append("`make points` goes on with what is missing; `book points` lists it.")
    return "\n\n".join(parts)


def costs_page(
    sweeps: list[FigureSweep], runs: dict[str, Settings], kept: dict[str, Record], titles: dict[str, str]
) -> str:
    """Figure by figure what full size takes: points and operations, measured seconds, memory, what is done and left.

    ``titles`` are those of the book's pages by their names, in the book's order.
    """
    columns = ["figure", "points", "done", "operations", "seconds a point", "memory", "left on one core"]
    lines = [
        "# What full size costs",
        "",
        "Some figures of the papers take more than a laptop's minutes. They are made point by point, each point with a "
        "record of its own, on whatever core or accelerator is free; or in one run, whose record is kept. Seconds and "
        "memory are measured on the points that are done; where none is, they are planned from the operations.",
        "",
        "## Point by point",
        "",
        table_row(columns),
        table_row(["---", "---:", "---:", "---:", "---", "---", "---"]),
        *(table_row(_costs(one, titles)) for one in sweeps),
        table_row(["**all**", *_totals(sweeps)]),
        "",
        "## In one run",
        "",
        table_row(["page", "recorded", "what one run takes"]),
        table_row(["---"] * 3),
        *(
            table_row([_link(page, titles), _recorded(kept.get(page)), runs[page].cost or ""])
            for page in titles
            if page in runs and not runs[page].sweeps
        ),
    ]
    return "\n".join(lines) + "\n"


def _recorded(record: Record | None) -> str:
    return f"{in_words(record.seconds)} on {record.environment.get('device', 'CPU')}" if record else "no"


def _state(one: FigureSweep, fingerprint: str) -> str:
    if not one.done:
        return f"None of {len(one.points)} points is done; all would take {_left(one)}."
    earlier = sum(record.fingerprint != fingerprint for record in one.done.values())
    told = f"{len(one.done)} of {len(one.points)} points are done"
    told += f", {earlier} of them with earlier code" if earlier else ""
    return f"{told}; the other {len(one.missing)} would take {_left(one)}." if one.missing else f"{told}."


def _left(one: FigureSweep) -> str:
    """What the missing points would take, and how that is known."""
    how = "at the measured pace" if one.pace(CPU) else "as planned"
    return f"{in_words(one.seconds(one.missing, CPU))} of one core, {how}"


def _picture(one: FigureSweep, number: int, layout: Layout) -> str:
    table = table_of((point for point in one.points if point.identity in one.done), one.done)
    across, shown, apart = chosen(table, one.points[0].axes, one.sweep.across, one.sweep.number, one.sweep.apart)
    name = f"{one.page}-points-{number + 1}"
    called = {each: one.sweep.words.get(each, each) for each in (across, shown, apart) if each}
    write_whole(layout.figure(name), svg_of(picture_of(table, across, shown, apart, words=called)))
    curves = f", a curve for each value of {called[apart]}" if apart else ""
    against = f"{called[shown]} against {called[across]}"
    caption = (
        f"Point by point, {one.sweep.title}: {against}{curves}. A mark is the mean over the seeds "
        f"that are done, a bar its {CONFIDENCE:.0%} interval, where there are two or more."
    )
    if unknown := table[shown].null_count():
        caption += f" Not drawn: {unknown} of {len(table)}, in which there is no such number."
    return figure_block(name, {"caption": caption, "alt": against, "photo": ""})


def _compared(one: FigureSweep) -> list[str]:
    """The table of every curve at its best place beside the one it is compared with, where the sweep asks for it."""
    sweep = one.sweep
    if sweep.against is None or sweep.apart is None:
        return []
    table = table_of((point for point in one.points if point.identity in one.done), one.done)
    gaps = gaps_at_best(table, sweep.across, sweep.number, sweep.apart, sweep.against)
    if not gaps:
        return []
    curve, place, number = (sweep.words.get(each, each) for each in (sweep.apart, sweep.across, sweep.number))
    caption = (
        f"*Each {curve} at its best {place}, beside {sweep.against}, seed by seed. For the gap of one seed both stand "
        f"at the {place} that is best for them over the other seeds.*"
    )
    columns = [curve, f"best {place}", number, "gap, mean of the seeds", f"{CONFIDENCE:.0%} interval"]
    rows = [table_row(columns), table_row(["---"] * len(columns)), *(_gap_row(gap, sweep.against) for gap in gaps)]
    return [caption, "\n".join(rows)]


def _gap_row(gap: Gap, against: Any) -> str:
    place = f"{gap.place}" + ", at an end of those tried" * gap.at_an_end
    told = [str(gap.name), place, f"{gap.value:.4f}"]
    if gap.name == against:
        return table_row([*told, "0", ""])
    return table_row([*told, f"{gap.gap:+.3f}", "{:+.3f} to {:+.3f}".format(*gap.interval) if gap.interval else ""])


def _costs(one: FigureSweep, titles: dict[str, str]) -> list[str]:
    memory = [record.memory_mb for record in one.done.values() if record.memory_mb]
    return [
        f"{_link(one.page, titles)}, {one.sweep.title}",
        str(len(one.points)),
        str(len(one.done)),
        f"{_operations(one):.1e}" if one.sweep.operations else "",
        _seconds(one),
        f"{max(memory)} MB" if memory else f"up to {one.sweep.memory_mb} MB, planned",
        (in_words(one.seconds(one.missing, CPU)) if one.missing else "nothing")
        + (", for an accelerator" * one.sweep.gpu),
    ]


def _seconds(one: FigureSweep) -> str:
    devices = sorted({record.device for record in one.done.values()})
    if not devices:
        return f"{one.seconds(one.points, CPU) / len(one.points):.0f}, planned"
    took = {device: [record.seconds for record in one.done.values() if record.device == device] for device in devices}
    return ", ".join(f"{sum(seconds) / len(seconds):.0f} on {device}" for device, seconds in took.items())


def _operations(one: FigureSweep) -> float:
    return sum(number_of(one.sweep.operations, point) for point in one.points)


def _totals(sweeps: Iterable[FigureSweep]) -> list[str]:
    sweeps = list(sweeps)
    operations = sum(_operations(one) for one in sweeps if one.sweep.operations)
    left = sum(one.seconds(one.missing, CPU) for one in sweeps)
    points, done = sum(len(one.points) for one in sweeps), sum(len(one.done) for one in sweeps)
    return [str(points), str(done), f"{operations:.1e}", "", "", in_words(left)]


def _link(page: str, titles: dict[str, str]) -> str:
    """A page by its label, as the paper has it, and its chapter."""
    label, _, _ = titles[page].partition(" · ")
    return f"[{label}](/notebooks/{page}.ipynb) of {page.partition('/')[0]}"
