"""Full-size figures in the book: on a figure's page the points that are done, on a page for all what they cost."""

from bookpress.claims.intervals import CONFIDENCE
from bookpress.claims.record import Record
from bookpress.claims.show import svg_of
from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebooks.profile import Settings
from bookpress.site.markdown import figure_block, render
from bookpress.sweeps.figures import FigureSweep, in_words
from bookpress.sweeps.table import choose_columns, gaps_at_best, picture_of, table_of


def points_section(sweeps: list[FigureSweep], fingerprints: dict[str, str], layout: Layout) -> str:
    """The pictures of a page's sweeps from the points that are done, and what is missing; empty without a sweep."""
    shown = []
    for number, figure in enumerate(sweeps, start=1):
        made_with, parts = fingerprints[figure.sweep.notebook], []
        earlier = sum(record.fingerprint != made_with for record in figure.done.values())
        if len({point.parameters[figure.sweep.across] for point in figure.points if point.identity in figure.done}) > 1:
            parts = [_picture(figure, f"{figure.page}-points-{number}", layout), _compared(figure)]
        shown.append((figure, earlier, [*filter(None, parts)]))
    return render("points", shown=shown) if shown else ""


def costs_page(
    sweeps: list[FigureSweep], runs: dict[str, Settings], kept: dict[str, Record], titles: dict[str, str]
) -> str:
    """The cost of full size by figure: points, measured seconds, memory, and what is left.

    ``titles`` are those of the book's pages by their names, in the book's order.
    """
    left = in_words(sum(sum(figure.seconds(figure.missing)) for figure in sweeps))
    points, done = sum(len(figure.points) for figure in sweeps), sum(len(figure.done) for figure in sweeps)
    by_point = [_costs(figure, titles) for figure in sweeps]
    by_point += [["**all**", str(points), str(done), "", "", left]]
    in_one_run = []
    for page in [page for page in titles if page in runs and not runs[page].sweeps]:
        record = kept.get(page)
        recorded = f"{in_words(record.seconds)} on {record.device}" if record else "no"
        in_one_run.append([_link(page, titles), recorded, runs[page].cost or ""])
    return render("full-size", by_point=by_point, in_one_run=in_one_run)


def _picture(figure: FigureSweep, name: str, layout: Layout) -> str:
    sweep, table = figure.sweep, table_of(figure.points, figure.done)
    across, number, apart = choose_columns(table, figure.points[0].axes, sweep.across, sweep.number, sweep.apart)
    write_whole(layout.figure(name), svg_of(picture_of(table, across, number, apart, words=sweep.words)))
    curves = f", a curve for each value of {sweep.words.get(apart, apart)}" if apart else ""
    against = f"{sweep.words.get(number, number)} against {sweep.words.get(across, across)}"
    caption = (
        f"Point by point, {sweep.title}: {against}{curves}. A mark is the mean over the seeds "
        f"that are done, a bar its {CONFIDENCE:.0%} interval, where there are two or more."
    )
    if unknown := table[number].null_count():
        caption += f" Not drawn: {unknown} of {len(table)}, in which there is no such number."
    return figure_block(name, {"caption": caption, "alt": against, "photo": ""})


def _compared(figure: FigureSweep) -> str:
    """The table of every curve at its best place with the one it is compared with, where the sweep names one."""
    sweep = figure.sweep
    if sweep.against is None or sweep.apart is None:
        return ""
    table = table_of(figure.points, figure.done)
    gaps = gaps_at_best(table, sweep.across, sweep.number, sweep.apart, sweep.against)
    names = {each: sweep.words.get(each, each) for each in (sweep.apart, sweep.across, sweep.number)}
    return render("gaps", sweep=sweep, gaps=gaps, names=names, confidence=f"{CONFIDENCE:.0%}") if gaps else ""


def _costs(figure: FigureSweep, titles: dict[str, str]) -> list[str]:
    memory = [record.memory_mb for record in figure.done.values() if record.memory_mb]
    planned = f"{sum(figure.seconds(figure.points)) / len(figure.points):.0f}, planned"
    left = in_words(sum(figure.seconds(figure.missing))) if figure.missing else "nothing"
    return [
        f"{_link(figure.page, titles)}, {figure.sweep.title}",
        str(len(figure.points)),
        str(len(figure.done)),
        ", ".join(f"{seconds:.0f} on {device}" for device, seconds in figure.seconds_measured().items()) or planned,
        f"{max(memory)} MB" if memory else f"up to {figure.sweep.memory_mb} MB, planned",
        left + ", for an accelerator" * figure.sweep.gpu,
    ]


def _link(page: str, titles: dict[str, str]) -> str:
    """A page by its label, as the paper has it, and its chapter."""
    label, _, _ = titles.get(page, page).partition(" · ")
    return f"[{label}](/notebooks/{page}.ipynb) of {page.partition('/')[0]}"
