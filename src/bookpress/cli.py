"""The command ``book``: list, run, show and begin notebooks; bind the pages; keep full-size records."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer
from rich.console import Console
from rich.table import Column, Table

from bookpress.claims.panel import panel_text
from bookpress.claims.record import Record
from bookpress.exits import Exit, Failure
from bookpress.layout import FULL, LAPTOP, Layout
from bookpress.notebooks.profile import load_profile, settings_for
from bookpress.notebooks.source import Notebook

# What `book run` does not need, each of the other commands imports: a build starts it for every notebook.

#: The longest time that a run of points may be given.
MOST_HOURS = 8760.0

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain words, the same on a terminal, in a pipe and in a log
    help="Run the notebooks of the book and see what they found.\n\n"
    "Exit codes: 0 done, 1 the book is not whole, 2 wrong usage, 3 bad parameter, 4 failed check, 5 failed cell, "
    "6 time-out, 7 dead kernel, 8 fault in the claims registry, 9 a file is damaged or cannot be read or written.",
)


def _console(*, stderr: bool) -> Console:
    """A console that is a terminal where there is one, whatever the environment says; else no line is cut or folded."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = None if terminal else 10_000
    return Console(stderr=stderr, highlight=False, markup=False, soft_wrap=True, force_terminal=terminal, width=width)


console, errors = _console(stderr=False), _console(stderr=True)

NotebookName = Annotated[str, typer.Argument(help="a notebook as PAPER/NAME; `book list` shows them all")]
ProfileName = Annotated[str, typer.Option("--profile", help=f"'{LAPTOP}' for the defaults, '{FULL}' for full size")]


def _core_count(given: str) -> str:
    if given != "all" and not (given.isdecimal() and int(given)):
        raise typer.BadParameter(f"{given!r} is neither a whole number from 1 on nor 'all'")
    return given


CoreCount = Annotated[str, typer.Option("--cores", help="how many cores to use, or 'all'", callback=_core_count)]


def _hours(given: float) -> float:
    if not 0 <= given <= MOST_HOURS:  # nan is neither
        raise typer.BadParameter(f"{given:g} is not from 0 to {MOST_HOURS:g}")
    return given


Hours = Annotated[float, typer.Option(help="begin nothing after so many hours", callback=_hours)]


@app.callback()
def needs_a_book() -> None:
    """Refuse every command where there is no book, before anything is read or written."""
    Layout.here().checked()


@app.command("list")
def list_notebooks(profile: ProfileName = LAPTOP) -> None:
    """List the notebooks with the verdicts and seconds of their last run."""
    layout = Layout.here()
    load_profile(profile, layout)
    table = _table("notebook", "title", "last run", "seconds")
    for name in layout.notebooks():
        last, seconds = "failed" if layout.failed(name, profile).is_file() else "not run", ""
        if record := Record.of(layout, name, profile):
            counts = Counter(settled.verdict for settled in record.claims)
            last = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
            seconds = f"{record.seconds:.1f}"
        table.add_row(name, Notebook(name, layout).title, last, seconds)
    console.print(table)


@app.command()
def run(
    notebook: NotebookName,
    parameter: Annotated[
        list[str] | None, typer.Option("-p", "--parameter", help="set a parameter: key=value (repeat for more)")
    ] = None,
    profile: ProfileName = LAPTOP,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="the .ipynb of a run of your own, outside of the book")
    ] = None,
) -> None:
    """Run one notebook. With -p or -o the run is your own: it goes to OUTPUT and leaves the book alone."""
    from bookpress.notebooks.kernels import end_with_builder
    from bookpress.notebooks.run import run as run_notebook
    from bookpress.notebooks.values import values_of

    end_with_builder()
    layout = Layout.here()
    load_profile(profile, layout)
    values = values_of(parameter or [], Notebook(notebook, layout))
    if values and output is None:
        output = Path(f"{notebook.rpartition('/')[2]}.out.ipynb")
    with errors.status(f"running {notebook} ..."):
        record = run_notebook(notebook, values, profile, layout, output)
    _print_results(record)
    target = output or layout.executed(notebook, profile).relative_to(layout.root)
    console.print(f"{notebook}: done in {record.seconds:.1f} s -> {target}")


@app.command()
def show(notebook: NotebookName, profile: ProfileName = LAPTOP) -> None:
    """Show a notebook's parameters and what its last run found."""
    layout = Layout.here()
    source = Notebook.find(notebook, layout)
    settings = settings_for(notebook, profile, layout)
    console.print(f"{source.title}  ({notebook})", style="bold")
    table = _table("parameter", "value", "meaning", "range")
    for parameter in source.parameters:
        value = repr(settings.parameters.get(parameter.name, parameter.default))
        table.add_row(parameter.name, value, parameter.comment, parameter.rule.text if parameter.rule else "")
    console.print(table)
    record = Record.of(layout, notebook, profile)
    if record is None:
        option = "" if profile == LAPTOP else f" --profile {profile}"
        console.print(f"not run yet at profile '{profile}': `book run {notebook}{option}`")
    else:
        _print_results(record)
        console.print(f"{record.seconds:.1f} s, commit {record.commit or 'unknown'}, fingerprint {record.fingerprint}")


@app.command()
def new(
    paper: Annotated[str, typer.Argument(help="the paper's short name, as in book/claims")],
    claim: Annotated[str, typer.Argument(help="the id of the claim that the notebook settles, e.g. lemma-4-4")],
    slug: Annotated[str, typer.Option(help="words for the file name, e.g. robustness: lemma_4_4_robustness.py")] = "",
) -> None:
    """Write the skeleton of a notebook for a claim of the registry, and its .ipynb pair."""
    from bookpress.notebooks.pair import write_skeleton

    path = write_skeleton(paper, claim, Layout.here(), slug)
    console.print(f"wrote {path.name} and its pair; now set 'notebook' and 'expected' of the claim in the registry")


@app.command()
def pair(
    check: Annotated[bool, typer.Option("--check", help="change nothing, fail where a pair is off")] = False,
) -> None:
    """Write the registry's statements into every notebook and bring its .ipynb in step, without outputs."""
    from bookpress.notebooks.pair import unpaired, write_pairs

    layout = Layout.here()
    if not check:
        console.print(f"{write_pairs(layout)} pairs written")
    elif off := unpaired(layout):
        _fail(Exit.FAILED_CHECK, "out of step with their source (run `make pair`): " + ", ".join(off))
    else:
        console.print("every notebook is in step with its source")


@app.command()
def bind(profile: ProfileName = LAPTOP) -> None:
    """Make the book's pages from the records."""
    from bookpress.graph.build import the_only_build
    from bookpress.site.bind import bind_book

    layout = Layout.here()
    with the_only_build(layout) as by_hand:
        console.print(bind_book(layout, profile))
        if by_hand:  # the next build binds its own profile again
            layout.bound.unlink()


@app.command()
def build(profile: ProfileName = LAPTOP, cores: CoreCount = "all") -> None:
    """Run what has changed, bind the pages and build the site: what `make book` does."""
    from bookpress.graph.build import build_book

    build_book(Layout.here(), profile, cores, console)
    console.print("the book is at _build/html/index.html; make serve shows it")


@app.command()
def sweep(
    notebook: NotebookName,
    parameter: Annotated[
        list[str] | None, typer.Option("-p", "--parameter", help="an axis: key=1,2,4 or key=0..5 (repeat for more)")
    ] = None,
    across: Annotated[str | None, typer.Option(help="the axis that the picture runs along")] = None,
    number: Annotated[str | None, typer.Option(help="the number that it shows")] = None,
    apart: Annotated[str | None, typer.Option(help="the axis that has a curve for each value")] = None,
    hours: Hours = MOST_HOURS,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="the folder of points, table, picture")] = None,
    profile: ProfileName = LAPTOP,
    cores: CoreCount = "all",
    workflow_profile: Annotated[
        Path | None, typer.Option(help="a folder of Snakemake's settings, workflow/profiles/slurm say")
    ] = None,
) -> None:
    """Run a notebook at every point that the axes span, and gather one table and one picture. Finished points stay."""
    from bookpress.sweeps.sweep import run_sweep

    work = {"cores": cores, "hours": hours, "workflow_profile": workflow_profile}
    run_sweep(Layout.here(), notebook, parameter or [], console, (across, number, apart), profile, output, **work)


@app.command()
def points(
    notebooks: Annotated[list[str] | None, typer.Argument(help="pages as PAPER/NAME; all where none is named")] = None,
    work: Annotated[bool, typer.Option("--work", help="make the missing points, at low priority")] = False,
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="with --work: for what the points are")] = "cpu",
    hours: Hours = MOST_HOURS,
    cores: CoreCount = "all",
) -> None:
    """List the points of full-size figures, done and missing, or make those that are missing."""
    from bookpress.sweeps.figures import list_points, work_at_points

    if work:
        work_at_points(Layout.here(), notebooks or [], device, cores, hours, console)
    else:
        list_points(Layout.here(), notebooks or [], console)


@app.command(hidden=True)
def point(plan: str, number: str) -> None:
    """Make one point of a plan, for the graph."""
    from bookpress.notebooks.kernels import end_with_builder
    from bookpress.sweeps.sweep import make_point

    end_with_builder()
    make_point(Layout.here(), plan, number)


_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}
Exported = Annotated[str, typer.Argument(help="PAPER/NAME; `book export` lists what there is")]
File = Annotated[Path | None, typer.Option("-o", "--output", help="the file; its ending says the form")]


@app.command(context_settings=_OPTIONS)
def export(context: typer.Context, name: Exported = "", output: File = None) -> None:
    """Write something of the book to a file: a machine, say. Its own options follow as --option VALUE."""
    from bookpress.files import write_whole
    from bookpress.site.package import find_exports, make_export

    layout = Layout.here()
    if not name:
        for offered, command in find_exports(layout).items():
            options = "  ".join(f"{option.opts[0]} {option.default}" for option in command.params)
            console.print(f"{offered}: {command.help}\n  {options}")
    elif output is None:
        _fail(Exit.USAGE, "-o FILE says where it is to be written")
    else:
        content = make_export(layout, name, context.args, output.suffix)
        write_whole(output, content)
        console.print(f"wrote {output}: {len(content)} bytes")


@app.command("compile", context_settings=_OPTIONS)
def compile_program(context: typer.Context, source: str, output: File = None) -> None:
    """Compile a Python file into a prompt for a transformer: an export, with the options that `book export` lists."""
    context.args += ["--source", source]
    export(context, "looped-transformers/program", output)


@app.command()
def keep(notebook: NotebookName) -> None:
    """Keep the full-size record of a notebook in results/, where the book finds it."""
    layout = Layout.here()
    record = Record.of(layout, Notebook.find(notebook, layout).name, FULL)
    if record is None:
        _fail(Exit.USAGE, f"no full-size record of {notebook}: `book run {notebook} --profile {FULL}` makes one")
    record.write(kept := layout.full_size_record(notebook))
    console.print(f"kept {kept.relative_to(layout.root)}")


def main() -> None:
    """Run the command line and turn every expected failure into one message and its exit code."""
    try:
        app()
    except Failure as failure:
        _fail(failure.code, str(failure))
    except OSError as error:
        _fail(Exit.BAD_FILE, (f"{error.filename}: " if error.filename else "") + (error.strerror or str(error)))
    except UnicodeDecodeError as error:
        _fail(Exit.BAD_FILE, str(error))


def _fail(code: Exit, message: str) -> NoReturn:
    errors.print(f"{code.name.lower().replace('_', ' ')}: {message}", style="red")
    sys.exit(code)


def _print_results(record: Record) -> None:
    for settled in record.claims:
        console.print(panel_text(settled))
    for name, value in record.numbers.items():
        console.print(f"{name}: {value}")


def _table(*heads: str) -> Table:
    """A table whose cells are folded, and never cut, on a narrow terminal."""
    return Table(*(Column(head, overflow="fold") for head in heads))


if __name__ == "__main__":
    main()
