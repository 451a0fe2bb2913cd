"""Where a cell's values come from: the package's functions behind it, and a line on the run that made them."""

import ast
import re
from itertools import groupby

from bookpress.claims.panel import escape
from bookpress.claims.record import Record
from bookpress.layout import Layout
from bookpress.notebooks.source import Parameter

PACKAGE = "attention_theory"
_IMPORTS = ast.Import | ast.ImportFrom


class Origins:
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
