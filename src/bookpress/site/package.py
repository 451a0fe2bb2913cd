"""The packages behind the pages: the functions that a cell's values come from, and a list of every public name."""

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from bookpress.claims.panel import escape
from bookpress.claims.registry import Paper
from bookpress.layout import Layout
from bookpress.notebooks.source import Notebook

#: The table by which a package finds what it exports, as its ``__init__`` assigns it: modules by the names in them.
_TABLE = "_ROOMS"
_IMPORTS = ast.Import | ast.ImportFrom


def libraries(layout: Layout) -> list[str]:
    """The names of the packages of ``src`` but the press."""
    names = {path.parent.name for path in layout.packages.glob("*/__init__.py")}
    return sorted(names - {__name__.partition(".")[0]})


class _Statement(NamedTuple):
    """A statement of a cell, with the names that it reads, and those that it sets or changes in place."""

    node: ast.stmt
    used: set[str]
    changed: set[str]


class CodeCells:
    """The code cells of one notebook, read from their syntax; the functions of the ``packages`` count."""

    def __init__(self, cells: list[str], packages: list[str]) -> None:
        self._cells = [
            [_Statement(node, _names(node, ast.Load), _changed(node)) for node in ast.parse(cell).body]
            for cell in cells
        ]
        nodes = [statement.node for cell in self._cells for statement in cell]
        self._imported = {
            alias.asname or alias.name: f"{getattr(node, 'module', '')}.{alias.name}"
            for node in nodes
            if isinstance(node, _IMPORTS)
            for alias in node.names
        }
        self._dotted = {name: dotted for name, dotted in self._imported.items() if dotted.partition(".")[0] in packages}
        self._defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}

    def is_folded(self, number: int, shows_figure: bool) -> bool:
        """Whether a cell only imports, or draws and does nothing that a reader must not miss.

        That is the use of a package or a claim; and, where nothing is drawn by hand, of a function of the notebook.
        """
        names = {name for statement in self._cells[number] for name in statement.used | statement.changed}
        draws = "schematic" in names or (shows_figure and not names & self._defined)
        only_imports = all(isinstance(statement.node, _IMPORTS) for statement in self._cells[number])
        return only_imports or (draws and not names & (self._dotted.keys() | {"Claim", "claim"}))

    def functions(self, number: int) -> list[str]:
        """The dotted names from the packages that a cell's values come from.

        From the end of the cell backwards: every statement of the cell counts, and of the cells before it those that
        change a name which a later counted statement uses.
        """
        used: set[str] = set()
        open_names: set[str] = set()  # used later, and set by no statement that has been counted
        earlier = [statement for cell in self._cells[:number] for statement in cell]
        for place, statement in reversed([*enumerate([*earlier, *self._cells[number]])]):
            if place >= len(earlier) or (statement.changed - self._imported.keys()) & open_names:
                replaced = _names(statement.node, ast.Store) if isinstance(statement.node, ast.Assign) else set()
                open_names = (open_names - replaced) | statement.used
                used |= statement.used
        return sorted(self._dotted[name] for name in used & self._dotted.keys())


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def _changed(statement: ast.stmt) -> set[str]:
    """Names that a statement sets, or changes in place by an item, an attribute or a method."""
    texts = [statement.name] if isinstance(statement, ast.FunctionDef) else []
    for node in ast.walk(statement):
        if isinstance(getattr(node, "ctx", None), ast.Store) or isinstance(node, ast.Expr):
            texts.append(ast.unparse(node))
    return {name[0] for text in texts if (name := re.match(r"\w+", text))}


def package_pages(layout: Layout, papers: list[Paper]) -> dict[str, str]:
    """Generated pages by file name: ``package`` with what is shared, and one for the room of each paper."""
    opening = (
        "The layers and machines come first, each with an example. Below them are the modules that all papers share; "
        "the modules of each paper have a page. The last column lists the pages of the book that import a name."
    )
    packages = [layout.packages / name for name in libraries(layout)]
    pages = {"package": ["# The package", "", opening, *(line for folder in packages for line in _exports(folder))]}
    for paper in papers:
        about = f"What is run of *{paper.title}*; its chapter is [here](/papers/{paper.name}.md)."
        pages[f"package-{paper.name}"] = [f"# {paper.short_title}: the package", "", about]
    users = _users(layout)
    for folder in packages:
        for path in sorted(folder.rglob("*.py"), key=lambda path: path.with_suffix("").parts):
            names = path.relative_to(folder).with_suffix("").parts
            page = f"package-{names[0].replace('_', '-')}"
            pages[page if page in pages else "package"] += _section(path, ".".join(names), folder.name, users)
    return {name: "\n".join(lines) + "\n" for name, lines in pages.items() if len(lines) > 3 or name == "package"}


def _exports(folder: Path) -> list[str]:
    """The names that a package and its subpackages export, with what each is and the example of its docstring."""
    lines = []
    short = "".join(word[0] for word in folder.name.split("_"))
    for path in sorted(folder.rglob("__init__.py"), key=lambda path: -len(path.parts)):
        prefix = ".".join((short, *path.parent.relative_to(folder).parts))
        assigned = {
            ast.unparse(node.targets[0]): node.value for node in _parsed(path).body if isinstance(node, ast.Assign)
        }
        for name, module in ast.literal_eval(assigned[_TABLE]).items() if _TABLE in assigned else ():
            file = folder.joinpath(*module.split(".")).with_suffix(".py")
            node = next(node for node in _public(file) if node.name == name)
            example = re.search(r"^>>> .*?(?=\n\n|\Z)", ast.get_docstring(node) or "", re.MULTILINE | re.DOTALL)
            lines += ["", f"## `{prefix}.{name}`", "", _first_paragraph(node), ""]
            lines += ["```pycon", example.group(), "```"] if example else []
    return ["", f"```python\nimport {folder.name} as {short}\n```", *lines] if lines else []


def _section(path: Path, module: str, package: str, users: dict[str, list[str]]) -> list[str]:
    """A module's summary and the table of its public functions and classes; nothing where it has none."""
    rows = [
        f"| `{node.name}` | {_first_paragraph(node)} | {', '.join(users[f'{package}.{module}.{node.name}'])} |"
        for node in _public(path)
    ]
    opening = ["", f"## {module}", "", _first_paragraph(_parsed(path)), "", ":::{table}", ":class: package", ""]
    return [*opening, "| name | description | pages |", "| --- | --- | --- |", *rows, ":::"] if rows else []


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _public(path: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    """The functions and classes of a file that are for others."""
    definitions = [node for node in _parsed(path).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [node for node in definitions if not node.name.startswith("_")]


def _users(layout: Layout) -> dict[str, list[str]]:
    """For each dotted name of the package, links to the pages that import it."""
    users: dict[str, list[str]] = defaultdict(list)
    for name in filter(lambda name: layout.page(name).is_file(), layout.notebooks()):
        notebook = Notebook(name, layout)
        link = f"[{notebook.title.partition(' · ')[0]}](/notebooks/{name}.ipynb)"
        imports = [node for node in ast.walk(ast.parse(notebook.code)) if isinstance(node, ast.ImportFrom)]
        for dotted in {f"{node.module}.{alias.name}" for node in imports for alias in node.names}:
            users[dotted].append(link)
    return users


def _first_paragraph(node: ast.Module | ast.FunctionDef | ast.ClassDef) -> str:
    """The first paragraph of a docstring, its code as code and all else as it was typed."""
    text = " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
    text = re.sub(r":\w+:`[~.]?([^`]*)`", r"``\1``", text)
    parts = re.split(r"(``.*?``)", text)
    return "".join(part.replace("|", r"\|") if part.startswith("``") else escape(part) for part in parts)
