"""The package behind the pages: the functions that a cell's values come from, and a list of every public name."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from bookpress.claims.panel import escape
from bookpress.claims.registry import Paper
from bookpress.layout import Layout
from bookpress.notebooks.source import Notebook

PACKAGE = "attention_theory"
#: The table by which the package finds what it exports.
_TABLE = "_ROOMS"
_IMPORTS = ast.Import | ast.ImportFrom


class CodeCells:
    """The code cells of one notebook, read from their syntax; ``package`` is the one whose functions count."""

    def __init__(self, cells: list[str], package: str = PACKAGE) -> None:
        self._cells = [[(one, _names(one, ast.Load), _changed(one)) for one in ast.parse(cell).body] for cell in cells]
        statements = [one for cell in self._cells for one, _, _ in cell]
        imports = [(one, alias) for one in statements if isinstance(one, _IMPORTS) for alias in one.names]
        self._imported = {
            alias.asname or alias.name: f"{getattr(one, 'module', '')}.{alias.name}" for one, alias in imports
        }
        self._dotted = {name: dotted for name, dotted in self._imported.items() if dotted.startswith(f"{package}.")}
        self._own = {one.name for one in statements if isinstance(one, ast.FunctionDef)}

    def only_imports(self, number: int) -> bool:
        return all(isinstance(one, _IMPORTS) for one, _, _ in self._cells[number])

    def computes_or_judges(self, number: int) -> bool:
        """Whether a cell uses the package, a function of the notebook, or a claim: what a reader must not miss."""
        names = set().union(*(used | changed for _, used, changed in self._cells[number]))
        return bool(names & (self._dotted.keys() | self._own | {"Claim", "claim"}))

    def draws_a_schematic(self, number: int) -> bool:
        """Whether a cell draws by hand: it uses the schematic drawings, and neither the package nor a claim."""
        names = set().union(*(used | changed for _, used, changed in self._cells[number]))
        return "schematic" in names and not names & (self._dotted.keys() | {"Claim", "claim"})

    def functions(self, number: int) -> list[str]:
        """The dotted names from the package that a cell's values come from, through the statements before it too."""
        wanted: set[str] = set()
        names: set[str] = set()
        statements = [one for cell in self._cells[: number + 1] for one in cell]
        for back, (statement, used, changed) in enumerate(reversed(statements)):
            if back < len(self._cells[number]) or (changed - self._imported.keys()) & wanted:
                overwritten = _names(statement, ast.Store) if isinstance(statement, ast.Assign) else set()
                wanted = (wanted - overwritten) | used
                names |= wanted
        return sorted(self._dotted[name] for name in names & self._dotted.keys())


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
    )
    opening += "the modules of each paper have a page. The last column lists the pages of the book that import a name."
    pages = {"package": ["# The package", "", opening, *_door(layout)]}
    rooms = {paper.name.replace("-", "_"): f"package-{paper.name}" for paper in papers}
    for paper in papers:
        about = f"What is run of *{paper.title}*; its chapter is [here](/papers/{paper.name}.md)."
        pages[f"package-{paper.name}"] = [f"# {paper.short_title}: the package", "", about]
    users = _users(layout)
    for path in sorted((layout.packages / PACKAGE).rglob("*.py"), key=lambda one: one.with_suffix("").parts):
        names = path.relative_to(layout.packages / PACKAGE).with_suffix("").parts
        if rows := _rows(path, ".".join((PACKAGE, *names)), users):
            summary = _first_paragraph(ast.parse(path.read_text(encoding="utf-8")))
            lines = ["", f"## {'.'.join(names)}", "", summary, "", ":::{table}", ":class: package", ""]
            lines += ["| name | description | pages |", "| --- | --- | --- |", *rows, ":::"]
            pages[rooms.get(names[0], "package")] += lines
    return {name: "\n".join(lines) + "\n" for name, lines in pages.items() if len(lines) > 3 or name == "package"}


def _door(layout: Layout) -> list[str]:
    """The names that the package and its ``nn`` export, with what each is and the example of its docstring."""
    lines = []
    for prefix in ("nn.", ""):
        path = layout.packages / PACKAGE / prefix.rstrip(".") / "__init__.py"
        parsed = ast.parse(path.read_text(encoding="utf-8")).body if path.is_file() else []
        tables = [
            node.value for node in parsed if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == _TABLE
        ]
        for name, module in ast.literal_eval(tables[0]).items() if tables else ():
            file = layout.packages.joinpath(PACKAGE, *module.split(".")).with_suffix(".py")
            node = next(node for node in _public(file) if node.name == name)
            example = re.search(r"^>>> .*?(?=\n\n|\Z)", ast.get_docstring(node) or "", re.MULTILINE | re.DOTALL)
            lines += ["", f"## `at.{prefix}{name}`", "", _first_paragraph(node), ""]
            lines += ["```pycon", example.group(), "```"] if example else []
    return ["", "```python\nimport attention_theory as at\n```", *lines] if lines else []


def _rows(path: Path, module: str, users: dict[str, list[str]]) -> list[str]:
    """A line of the table for each public function and class of a file."""
    return [
        f"| `{node.name}` | {_first_paragraph(node)} | {', '.join(users[f'{module}.{node.name}'])} |"
        for node in _public(path)
    ]


def _public(path: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    """The functions and classes of a file that are for others."""
    definitions = [
        node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
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
