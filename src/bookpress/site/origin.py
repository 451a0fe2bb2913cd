"""Where a cell's values come from: the functions of the package behind them, and one line on the run that made them."""

import ast
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import groupby
from typing import Any

import yaml

from bookpress.claims.panel import escape
from bookpress.claims.record import Record
from bookpress.layout import Layout
from bookpress.notebooks.source import Parameter


class Origins:
    """What the code cells of one notebook rest on, read from their syntax.

    ``package`` is the package whose functions count; a notebook's cells are given in order.
    """

    def __init__(self, cells: list[str], package: str = "attention_theory") -> None:
        self._cells = [ast.parse(cell).body for cell in cells]
        self._package = package
        self._loaded, self._bound = cache(_loaded), cache(_bound)  # a statement is asked of by every cell after it

    @cached_property
    def _imported(self) -> dict[str, str]:
        """Names that the notebook imports from the package, with the dotted name each stands for."""
        return {
            alias.asname or alias.name: f"{statement.module}.{alias.name}"
            for cell in self._cells
            for statement in cell
            if isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == self._package
            for alias in statement.names
        }

    @cached_property
    def _own(self) -> dict[str, set[str]]:
        """Functions that the notebook defines, with the names that each uses."""
        return {one.name: self._loaded(one) for cell in self._cells for one in cell if isinstance(one, ast.FunctionDef)}

    def computes_or_judges(self, number: int) -> bool:
        """Whether a cell uses the package, a function of the notebook, or a claim: what a reader must not miss."""
        used = set().union(*(self._loaded(one) | self._bound(one) for one in self._cells[number]))
        claims = {"Claim"} | {
            name
            for cell in self._cells
            for one in cell
            if isinstance(one, ast.Assign) and "Claim" in self._loaded(one)
            for name in self._bound(one)
        }
        return bool(used & (self._imported.keys() | self._own.keys() | claims))

    def only_imports(self, number: int) -> bool:
        return all(isinstance(one, ast.Import | ast.ImportFrom) for one in self._cells[number])

    def functions(self, number: int) -> list[str]:
        """Dotted names of the package's functions that a cell's values come from, through the cells before it too."""
        before = [one for cell in self._cells[:number] for one in cell]
        wanted: set[str] = set()
        met: set[str] = set()
        for place, one in reversed(list(enumerate(before + self._cells[number]))):
            if place < len(before) and not self._bound(one) & wanted:
                continue
            wanted = (wanted - _set_anew(one)) | self._used_by(one)
            met |= wanted
        return sorted(self._imported[name] for name in met & self._imported.keys())

    def _used_by(self, statement: ast.stmt) -> set[str]:
        """Names that a statement uses, and those that the notebook's own functions among them use."""
        used = self._loaded(statement)
        while more := set().union(*(self._own.get(name, set()) for name in used)) - used:
            used = used | more  # and not in place: what a statement loads is kept
        return used


def _loaded(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set()
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a statement sets, or changes in place by an item, an attribute or a method."""
    bound = set()
    for node in ast.walk(statement):
        match node:
            case ast.FunctionDef(name=name):
                bound.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.Subscript(ctx=ast.Store(), value=value) | ast.Attribute(ctx=ast.Store(), value=value):
                bound |= _root(value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=value))):
                bound |= _root(value)
    return bound


def _set_anew(statement: ast.stmt) -> set[str]:
    """Names whose value before a statement no longer matters after it."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    rows = [target.elts if isinstance(target, ast.Tuple) else [target] for target in targets]
    return {node.id for row in rows for node in row if isinstance(node, ast.Name)}


def _root(value: ast.expr) -> set[str]:
    while isinstance(value, ast.Subscript | ast.Attribute | ast.Call):
        value = value.func if isinstance(value, ast.Call) else value.value
    return {value.id} if isinstance(value, ast.Name) else set()


def origin_block(record: Record, parameters: list[Parameter], functions: list[str], layout: Layout) -> str:
    """One line on the run behind a figure or a panel, which opens to its parameters, record, source and functions."""
    commit = f"commit {record.commit}" if record.commit else ""
    where = record.environment.get("device", "CPU")
    line = " · ".join(
        part for part in (_in_short(record, parameters), where, f"{record.seconds:.0f} s", commit) if part
    )
    name = record.notebook.rpartition("/")[2]
    every = ", ".join(f"`{key} = {value!r}`" for key, value in record.parameters.items())
    links = Links(layout, record.commit)
    lines = [
        f"- Notebook: {links.to(f'notebooks/{record.notebook}.py')}",
        f"- Record, with every value: {{download}}`{name}.json </{record_in_book(record.notebook)}>`",
        f"- Parameters of the run: {every or 'none'}",
        *(f"- {one}" for one in _made_by(functions, links)),
    ]
    return "\n".join([f"::::::{{dropdown}} Made with {escape(line)}", ":class-container: origin", "", *lines, "::::::"])


def record_in_book(notebook: str) -> str:
    """Where a page's record lies below ``book/``, to be downloaded from the site."""
    return f"generated/records/{notebook}.json"


def _in_short(record: Record, parameters: list[Parameter]) -> str:
    """What was set to something else than the notebook's defaults, and the seeds."""
    default = {one.name: one.default for one in parameters}
    set_here = {name: value for name, value in record.parameters.items() if default.get(name, value) != value}
    seeds = {name: value for name, value in record.parameters.items() if "seed" in name}
    named = ", ".join(f"{name} = {value}" for name, value in (set_here | seeds).items())
    return named if set_here else ", ".join(part for part in ("default parameters", named) if part)


def _made_by(functions: list[str], links: "Links") -> Iterator[str]:
    """A line for each file: the functions that were used of it, and the file that tests it."""
    for module, dotted in groupby(functions, key=lambda one: one.rpartition(".")[0]):
        path = links.layout.module(module)
        if path is None:
            continue
        names = ", ".join(f"`{one.rpartition('.')[2]}`" for one in dotted)
        test = links.layout.test_of(module)
        yield f"{names} of {links.to(path)}" + (f", tested in {links.to(test)}" if test else "")


class Links:
    """Links to files of the repository where its address is known, plain paths where it is not."""

    def __init__(self, layout: Layout, commit: str) -> None:
        self.layout = layout
        config = layout.root / "_config.yml"
        repository = _repository(config.read_text(encoding="utf-8") if config.is_file() else "")
        whole = commit and not commit.endswith("-dirty")
        self._base = (repository.get("url") or "").rstrip("/")
        self._version = commit if whole else repository.get("branch") or "main"

    def to(self, path: str) -> str:
        return f"[`{path}`]({self._base}/blob/{self._version}/{path})" if self._base else f"`{path}`"


@cache
def _repository(settings: str) -> dict[str, Any]:
    """What the book's settings say of its repository; every figure and panel of a build asks for it."""
    return (yaml.safe_load(settings) or {}).get("repository") or {}
