"""The command ``book``: list, run, show and begin notebooks; bind the pages; keep full-size records."""

import ast
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bookpress.layout import Layout
from bookpress.notebook import SourceError, parameters_of, read_source, title_of
from bookpress.profile import FULL, LAPTOP, ProfileError, settings_for
from bookpress.record import Record
from bookpress.registry import Registry, RegistryError
from bookpress.runner import Exit, RunFailed

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Run the notebooks of the book and see what they found.\n\n"
    "Exit codes: 0 done, 2 wrong usage, 3 bad parameter, 4 failed check, 5 failed cell, 6 time-out, 7 dead kernel, "
    "8 fault in the claims registry.",
)
console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

NotebookName = Annotated[str, typer.Argument(help="a notebook as PAPER/NAME; `book list` shows them all")]
ProfileName = Annotated[str, typer.Option("--profile", help=f"'{LAPTOP}' for the defaults, '{FULL}' for full size")]


@app.command("list")
def list_notebooks() -> None:
    """List the notebooks with the claims they settle and what the last run found."""
    layout = Layout.here()
    registry = Registry.load(layout)
    table = Table("notebook", "title", "claims", "last run")
    for name in layout.notebooks():
        record = _record(layout, name, LAPTOP)
        table.add_row(
            name,
            title_of(read_source(layout.source(name))),
            str(len(registry.of_notebook(name))),
            f"{record.seconds:.0f} s" if record else "not run",
        )
    console.print(table)


@app.command()
def run(
    notebook: NotebookName,
    parameter: Annotated[
        list[str] | None, typer.Option("-p", "--parameter", help="set a parameter: key=value (repeat for more)")
    ] = None,
    profile: ProfileName = LAPTOP,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="where a run with -p goes")] = None,
    brief: Annotated[bool, typer.Option("--brief", help="one line, without the comparisons")] = False,
) -> None:
    """Run one notebook. With -p the run is your own: it goes to OUTPUT and leaves the book alone."""
    from bookpress.panel import panel_text
    from bookpress.runner import run as run_notebook

    layout = Layout.here()
    values = dict(_assignment(text) for text in parameter or [])
    if values and output is None:
        output = Path(f"{notebook.rpartition('/')[2]}.out.ipynb")
    with errors.status(f"running {notebook} ..."):
        record = run_notebook(notebook, values, profile, layout, output)
    if brief:
        console.print(f"{notebook}: {_verdicts(record)}; {record.seconds:.1f} s", soft_wrap=True)
        return
    for settled in record.claims:
        console.print(panel_text(settled), markup=False, soft_wrap=True)
    console.print(f"{notebook}: done in {record.seconds:.1f} s -> {output or _relative(layout, notebook, profile)}")


@app.command()
def show(notebook: NotebookName, profile: ProfileName = LAPTOP) -> None:
    """Show a notebook's parameters and what its last run found."""
    from bookpress.panel import panel_text

    layout = Layout.here()
    source = read_source(layout.source(notebook))
    settings = settings_for(notebook, profile, layout)
    console.print(f"[bold]{title_of(source)}[/bold]  ({notebook})")
    table = Table("parameter", "value", "meaning and range")
    for one in parameters_of(source, notebook):
        table.add_row(one.name, repr(settings.parameters.get(one.name, one.default)), one.comment)
    console.print(table)
    record = _record(layout, notebook, profile)
    if record is None:
        console.print(f"not run yet at profile '{profile}': `book run {notebook}`")
        return
    for settled in record.claims:
        console.print(panel_text(settled), markup=False, soft_wrap=True)
    console.print(f"{record.seconds:.1f} s, commit {record.commit or 'unknown'}, fingerprint {record.fingerprint}")


@app.command()
def new(
    paper: Annotated[str, typer.Argument(help="the paper's short name, as in book/claims")],
    claim: Annotated[str, typer.Argument(help="the id of the claim that the notebook settles, e.g. lemma-4-4")],
    slug: Annotated[str, typer.Option(help="words for the file name, e.g. robustness: lemma_4_4_robustness.py")] = "",
) -> None:
    """Write the skeleton of a notebook for a claim of the registry, and its .ipynb pair."""
    from bookpress.skeleton import write_skeleton

    path = write_skeleton(paper, claim, Layout.here(), slug)
    console.print(f"wrote {path.name} and its pair; now set 'notebook' and 'expected' of the claim in the registry")


@app.command()
def pair(
    check: Annotated[bool, typer.Option("--check", help="change nothing, fail where a pair is off")] = False,
) -> None:
    """Write the registry's statements into every notebook and bring its .ipynb in step, without outputs."""
    from bookpress.pairing import unpaired, write_pairs

    layout = Layout.here()
    if not check:
        console.print(f"{write_pairs(layout)} pairs written")
    elif off := unpaired(layout):
        _fail(Exit.FAILED_CHECK, "out of step with their source (run `make pair`): " + ", ".join(off))
    else:
        console.print("every notebook is in step with its source")


@app.command()
def bind(profile: ProfileName = LAPTOP) -> None:
    """Make the book's pages from the records: notebooks, scoreboard, errata, gallery, status, contents."""
    from bookpress.pages import bind_book

    console.print(bind_book(Layout.here(), profile))


@app.command()
def verdicts(profile: ProfileName = LAPTOP) -> None:
    """Print the verdicts and seconds of every notebook that has run."""
    layout = Layout.here()
    table = Table("notebook", "verdicts", "seconds")
    total = 0.0
    for name in layout.notebooks():
        record = _record(layout, name, profile)
        failed = layout.failed(name, profile)
        found = _verdicts(record) if record else f"FAILED, see {failed.name}" if failed.is_file() else "not run"
        total += record.seconds if record else 0.0
        table.add_row(name, found, f"{record.seconds:.1f}" if record else "-")
    console.print(table)
    console.print(f"{total:.0f} s of notebooks")


@app.command()
def keep(notebook: NotebookName) -> None:
    """Keep the full-size record of a notebook in results/, where the book finds it."""
    layout = Layout.here()
    record = _record(layout, notebook, FULL)
    if record is None:
        _fail(Exit.USAGE, f"no full-size record of {notebook}: `book run {notebook} --profile {FULL}` makes one")
        return
    record.write(layout.kept(notebook))
    console.print(f"kept {layout.kept(notebook).relative_to(layout.root)}")


def main() -> None:
    """Run the command line and turn every expected failure into one message and its exit code."""
    try:
        app()
    except RunFailed as failure:
        _fail(failure.code, str(failure))
    except RegistryError as fault:
        _fail(Exit.BAD_REGISTRY, str(fault))
    except (SourceError, ProfileError) as fault:
        _fail(Exit.USAGE, str(fault))


def _fail(code: Exit, message: str) -> None:
    errors.print(f"{code.name.lower().replace('_', ' ')}: {message}", style="red", markup=False, soft_wrap=True)
    sys.exit(code)


def _assignment(text: str) -> tuple[str, Any]:
    """``key=value`` with a Python literal for the value, or else plain text."""
    key, equals, value = text.partition("=")
    if not (equals and key.isidentifier()):
        raise RunFailed(Exit.BAD_PARAMETER, f"-p takes key=value, got {text!r}")
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return key, value


def _verdicts(record: Record) -> str:
    """How many of each verdict: ``3 holds, 1 refuted``."""
    return ", ".join(f"{count} {verdict}" for verdict, count in Counter(one.verdict for one in record.claims).items())


def _record(layout: Layout, notebook: str, profile: str) -> Record | None:
    path = layout.record(notebook, profile)
    return Record.read(path) if path.is_file() else None


def _relative(layout: Layout, notebook: str, profile: str) -> Path:
    return layout.executed(notebook, profile).relative_to(layout.root)
