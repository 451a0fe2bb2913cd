"""Where a cell's values come from: the package's functions behind it, and a line on the run that made them."""

import ast
import re
from functools import cache
from itertools import groupby

from bookpress.claims.panel import escape
from bookpress.claims.record import Record
from bookpress.layout import Layout
from bookpress.notebooks.source import Parameter

PACKAGE = "attention_theory"


class Origins:
    """The code cells of one notebook, read from their syntax; ``package`` is the one whose functions count."""

    def __init__(self, cells: list[str], package: str = PACKAGE) -> None:
        self._cells = [ast.parse(cell).body for cell in cells]
        imports = [one for cell in self._cells for one in cell if isinstance(one, ast.Import | ast.ImportFrom)]
        names = {alias.asname or alias.name: (one, alias) for one in imports for alias in one.names}
        self._dotted = {
            name: f"{one.module}.{alias.name}"
            for name, (one, alias) in names.items()
            if isinstance(one, ast.ImportFrom) and (one.module or "").partition(".")[0] == package
        }
        self._used, self._changed = cache(_used), cache(lambda statement: _changed(statement) - names.keys())

    def only_imports(self, number: int) -> bool:
        return all(isinstance(one, ast.Import | ast.ImportFrom) for one in self._cells[number])

    def computes_or_judges(self, number: int) -> bool:
        """Whether a cell uses the package, a function of the notebook, or a claim: what a reader must not miss."""
        own = {one.name for cell in self._cells for one in cell if isinstance(one, ast.FunctionDef)}
        names = set().union(*(self._used(one) | self._changed(one) for one in self._cells[number]))
        return bool(names & (self._dotted.keys() | own | {"Claim", "claim"}))

    def functions(self, number: int) -> list[str]:
        """The dotted names from the package that a cell's values come from, through the statements before it too."""
        statements = [one for cell in self._cells[: number + 1] for one in cell]
        start = len(statements) - len(self._cells[number])
        wanted: set[str] = set()
        names: set[str] = set()
        for place, statement in reversed(list(enumerate(statements))):
            if place >= start or self._changed(statement) & wanted:
                wanted = (wanted - _overwritten(statement)) | self._used(statement)
                names |= wanted
        return sorted(self._dotted[name] for name in names & self._dotted.keys())


def _used(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _overwritten(statement: ast.stmt) -> set[str]:
    """Names whose value before a statement no longer matters after it."""
    targets = [node for one in getattr(statement, "targets", []) for node in ast.walk(one)]
    return {node.id for node in targets if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _changed(statement: ast.stmt) -> set[str]:
    """Names that a statement sets, or changes in place by an item, an attribute or a method."""
    texts = [statement.name] if isinstance(statement, ast.FunctionDef) else []
    for node in ast.walk(statement):
        match node:
            case ast.Name(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                texts.append(ast.unparse(node))
            case ast.Expr(value=ast.Call(func=ast.Attribute())):
                texts.append(ast.unparse(node))
    return {name[0] for text in texts if (name := re.match(r"\w+", text))}


def origin_block(record: Record, parameters: list[Parameter], functions: list[str], layout: Layout) -> str:
    """One line on the run behind a figure or a panel, which opens to its parameters, record, source and functions."""
    default = {one.name: one.default for one in parameters}
    chosen = [f"{name} = {value}" for name, value in record.parameters.items() if default.get(name, value) != value]
    commit = f" · commit {record.commit}" if record.commit else ""
    device = record.environment.get("device", "CPU")
    line = f"{', '.join(chosen) or 'default parameters'} · {device} · {record.seconds:.0f} s{commit}"
    every = ", ".join(f"`{name} = {value!r}`" for name, value in record.parameters.items())
    name = record.notebook.rpartition("/")[2]
    lines = [
        f"- Notebook: `notebooks/{record.notebook}.py`",
        f"- Record, with every value: {{download}}`{name}.json </generated/records/{record.notebook}.json>`",
        f"- Parameters of the run: {every or 'none'}",
    ]
    for module, dotted in groupby(functions, key=lambda one: one.rpartition(".")[0]):
        names = ", ".join(f"`{one.rpartition('.')[2]}`" for one in dotted)
        lines += [f"- {names} of `{path}`"] if (path := layout.module(module)) else []
    return "\n".join([f"::::::{{dropdown}} Made with {escape(line)}", ":class-container: origin", "", *lines, "::::::"])
