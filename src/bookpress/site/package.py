"""The packages behind the pages: every public name, the files that they offer, and the cells that a page folds away.

Files such as machines and weights are offered by a convention. A package's room for a paper may have a module
``export`` with a table ``EXPORTS``: for each name a function whose parameters are the options, numbers and words with
defaults. It gives, for each ending that a file's name may have, a function that makes the content.
"""

import ast
import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click

from bookpress.claims.panel import escape
from bookpress.claims.registry import Paper, Registry
from bookpress.exits import Exit, Failure
from bookpress.layout import Layout
from bookpress.notebooks.dependencies import names_in
from bookpress.notebooks.source import Notebook
from bookpress.site.markdown import render

#: The table by which a package finds what it exports, as its ``__init__`` assigns it: modules by the names in them.
_TABLE = "_ROOMS"


class ExportError(Failure, code=Exit.USAGE):
    """A name, an option or an ending is not offered, or a value is refused."""


def libraries(layout: Layout) -> list[str]:
    """The names of the packages of ``src`` but the press."""
    names = {path.parent.name for path in layout.packages.glob("*/__init__.py")}
    return sorted(names - {__name__.partition(".")[0]})


def folded_cells(cells: list[str], with_figures: set[int], packages: list[str]) -> set[int]:
    """The numbers of the cells of a notebook that only import, judge, or draw and hide nothing that a reader must see.

    That is the use of one of the ``packages`` or of a claim; and, where nothing is drawn by hand, of a function of the
    notebook.
    """
    parsed = [ast.parse(cell) for cell in cells]
    statements = [node for cell in parsed for node in cell.body]
    defined = {node.name for node in statements if isinstance(node, ast.FunctionDef)}
    telling = {"Claim", "claim"}
    for node in statements:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in packages:
            telling |= {alias.asname or alias.name for alias in node.names}
    folded = set()
    for number, cell in enumerate(parsed):
        names = {node.id for node in ast.walk(cell) if isinstance(node, ast.Name)}
        draws = "schematic" in names or (number in with_figures and not names & defined)
        only_imports = all(isinstance(node, ast.Import | ast.ImportFrom) for node in cell.body)
        if only_imports or "Claim" in names or (draws and not names & telling):
            folded.add(number)
    return folded


def package_pages(layout: Layout, papers: list[Paper]) -> dict[str, str]:
    """Generated pages by file name: ``package`` with what is shared, and one for the room of each paper."""
    of_papers = {f"package-{paper.name}": paper for paper in papers}
    modules: dict[str, list[tuple[str, str, list[list[str]]]]] = {name: [] for name in ("package", *of_papers)}
    exports: dict[str, list[tuple[str, str, str]]] = {}
    users = _users(layout)
    for folder in (layout.packages / name for name in libraries(layout)):
        exports[folder.name] = _exports(folder)
        for path in sorted(folder.rglob("*.py"), key=lambda path: path.with_suffix("").parts):
            names = path.relative_to(folder).with_suffix("").parts
            module, page = ".".join(names), f"package-{names[0].replace('_', '-')}"
            rows = [
                [f"`{node.name}`", _first_paragraph(node), ", ".join(users[f"{folder.name}.{module}.{node.name}"])]
                for node in _public(path)
            ]
            if rows:
                modules[page if page in modules else "package"].append((module, _first_paragraph(_parsed(path)), rows))
    return {
        name: render("package", paper=of_papers.get(name), exports=exports, modules=listed)
        for name, listed in modules.items()
        if listed or name == "package"
    }


def find_exports(layout: Layout) -> dict[str, click.Command]:
    """Everything that is offered, by its name ``paper/name``, as commands with the functions' parameters as options."""
    offered = {}
    for paper in Registry.load(layout).papers:
        for path in sorted(layout.packages.glob(f"*/{paper.name.replace('-', '_')}/export.py")):
            dotted = ".".join(path.relative_to(layout.packages).with_suffix("").parts)
            for name, make in importlib.import_module(dotted).EXPORTS.items():
                defaults = {key: option.default for key, option in inspect.signature(make).parameters.items()}
                options = [click.Option([f"--{key}"], default=value) for key, value in defaults.items()]
                about = (inspect.getdoc(make) or "").partition("\n")[0]
                offered[f"{paper.name}/{name}"] = click.Command(
                    name, callback=make, params=[*options], help=about, add_help_option=False
                )
    return offered


def make_export(layout: Layout, name: str, texts: Sequence[str], ending: str) -> bytes:
    """Make the content of a file whose name has the ending.

    Args:
        texts: options as on a command line: ``--layers 4`` or ``--layers=4``.

    Raises:
        ExportError: a name, an option or an ending that is not offered, or a value that is refused.
    """
    offered = find_exports(layout)
    if name not in offered:
        raise ExportError(f"there is no {name!r} to export; there are: {', '.join(offered) or 'none'}")
    try:
        forms = offered[name].main([*texts], standalone_mode=False)
    except (click.UsageError, ValueError) as error:
        raise ExportError(error.format_message() if isinstance(error, click.UsageError) else str(error)) from error
    if ending not in forms:
        raise ExportError(f"{name} is written as {' or '.join(forms)}, got {ending or 'no ending'}")
    return bytes(forms[ending]())


def _exports(folder: Path) -> list[tuple[str, str, str]]:
    """The names that a package and its subpackages export, with what each is and the example of its docstring."""
    exports = []
    for path in sorted(folder.rglob("__init__.py"), key=lambda path: -len(path.parts)):
        prefix = ".".join(("".join(word[0] for word in folder.name.split("_")), *path.parent.relative_to(folder).parts))
        assigned = {
            ast.unparse(node.targets[0]): node.value for node in _parsed(path).body if isinstance(node, ast.Assign)
        }
        for name, module in ast.literal_eval(assigned[_TABLE]).items() if _TABLE in assigned else ():
            file = folder.joinpath(*module.split(".")).with_suffix(".py")
            node = next(node for node in _public(file) if node.name == name)
            example = re.search(r"^>>> .*?(?=\n\n|\Z)", ast.get_docstring(node) or "", re.MULTILINE | re.DOTALL)
            exports.append((f"{prefix}.{name}", _first_paragraph(node), example.group() if example else ""))
    return exports


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _public(path: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    """The functions and classes of a file that are for others: none in one whose name begins with an underscore."""
    definitions = [node for node in _parsed(path).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [node for node in definitions if not node.name.startswith("_") and not re.match("_[^_]", path.name)]


def _users(layout: Layout) -> dict[str, list[str]]:
    """For each dotted name of the package, links to the pages that import it."""
    users: dict[str, list[str]] = defaultdict(list)
    for name in filter(lambda name: layout.page(name).is_file(), layout.notebooks()):
        notebook = Notebook(name, layout)
        for dotted in names_in(notebook.code)[0]:
            users[dotted].append(f"[{notebook.title.partition(' · ')[0]}](/notebooks/{name}.ipynb)")
    return users


def _first_paragraph(node: ast.Module | ast.FunctionDef | ast.ClassDef) -> str:
    """The first paragraph of a docstring, its code as code and all else as it was typed."""
    text = " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
    text = re.sub(r":\w+:`[~.]?([^`]*)`", r"``\1``", text)
    parts = re.split(r"(``.*?``)", text)
    return "".join(part.replace("|", r"\|") if part.startswith("``") else escape(part) for part in parts)
