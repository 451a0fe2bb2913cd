"""Reading a notebook's source: its code, its prose and its parameters."""

import ast
import io
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
from nbformat import NotebookNode

PARAMETERS_TAG = "parameters"


class SourceError(Exception):
    """A notebook's source does not have the form that the press needs; the message names the file."""


@dataclass(frozen=True)
class Parameter:
    """One line of the parameters cell: its name, the laptop value and the comment behind it."""

    name: str
    default: Any
    comment: str


def read_source(path: Path) -> NotebookNode:
    """The notebook of a percent-format source, with the kernel it is to run on."""
    if not path.is_file():
        raise SourceError(f"no notebook source at {path.name}")
    notebook = jupytext.read(path, fmt="py:percent")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def code_of(notebook: NotebookNode) -> str:
    """Every code cell in order: what a run depends on, without the prose."""
    return "\n# %%\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


def title_of(notebook: NotebookNode) -> str:
    """The first heading."""
    for cell in notebook.cells:
        for line in cell.source.splitlines() if cell.cell_type == "markdown" else []:
            if line.startswith("# "):
                return line.removeprefix("# ").strip()
    return "Untitled"


def parameters_of(notebook: NotebookNode, name: str) -> list[Parameter]:
    """What the cell tagged ``parameters`` sets.

    Raises:
        SourceError: no such cell, more than one, or a line that is not ``name = plain value``.
    """
    tagged = [cell for cell in notebook.cells if PARAMETERS_TAG in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise SourceError(f"{name}: one cell must be tagged '{PARAMETERS_TAG}', found {len(tagged)}")
    source = tagged[0].source
    comments = _comments(source)
    parameters = []
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                comment = comments.get(statement.end_lineno or statement.lineno, "")
                parameters.append(Parameter(target, _literal(value, name, target), comment))
            case _:
                raise SourceError(f"{name}: the parameters cell holds only lines 'name = value'")
    return parameters


def _literal(value: ast.expr, notebook: str, target: str) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError as error:
        raise SourceError(f"{notebook}: the default of '{target}' must be a plain value") from error


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string.lstrip("# ").rstrip() for token in tokens if token.type == tokenize.COMMENT}
