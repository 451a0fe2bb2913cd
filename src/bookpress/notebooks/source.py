"""Reading a notebook's source: its code, its prose and its parameters."""

import ast
import difflib
import io
import re
import tokenize
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

from bookpress.layout import Layout
from bookpress.notebooks.memory import remembered
from bookpress.notebooks.ranges import Rule, comment_with, meaning_of, rules_of

PARAMETERS_TAG = "parameters"


class SourceError(Exception):
    """A notebook's source does not have the form that the press needs; the message names the file."""


@dataclass(frozen=True)
class Parameter:
    """One line of the parameters cell: its name, the laptop value, the comment behind it and the range it may have."""

    name: str
    default: Any
    comment: str
    rule: Rule | None = None

    @property
    def meaning(self) -> str:
        """The comment without the range that the rule states."""
        return meaning_of(self.comment) if self.rule else self.comment


@dataclass(frozen=True)
class Notebook:
    """One notebook of a book, by its name; whatever is asked of its source is read once.

    Raises:
        SourceError: there is no such source, or it cannot be read; at the first question about it.
    """

    name: str
    layout: Layout

    @property
    def path(self) -> Path:
        return self.layout.source(self.name)

    @cached_property
    def source(self) -> NotebookNode:
        if not self.path.is_file():
            known = [*self.layout.notebooks(), *self.layout.point_notebooks()]
            near = difflib.get_close_matches(self.name, known, n=3, cutoff=0.4)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            raise SourceError(f"there is no notebook '{self.name}' (no {self.name}.py){hint}")
        return read_source(self.path)

    @cached_property
    def code(self) -> str:
        return code_of(self.source)

    @cached_property
    def title(self) -> str:
        return title_of(self.source)

    @cached_property
    def parameters(self) -> list[Parameter]:
        return parameters_of(self.source, self.name)


def read_source(path: Path) -> NotebookNode:
    """The notebook of a percent-format source, with the kernel it is to run on.

    Raises:
        SourceError: no such file, not UTF-8, or not Python.
    """
    if not path.is_file():
        raise SourceError(f"no notebook source at {path.name}")
    text = text_of(path)
    try:
        return nbformat.from_dict(_parsed(text))
    except (SyntaxError, ValueError) as error:
        place = f"{path.name}, line {error.lineno}" if isinstance(error, SyntaxError) else path.name
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise SourceError(f"{place}: {said}") from error


def text_of(path: Path) -> str:
    """The text of a source file.

    Raises:
        SourceError: the file is not UTF-8.
    """
    content = path.read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{path.name}, line {line}: not UTF-8 (byte 0x{content[error.start]:02x})") from error


@lru_cache(maxsize=256)
def _parsed(text: str) -> dict[str, Any]:
    """A source as plain data. Files of the same text are parsed once; who asks gets a copy by ``from_dict``."""
    found: dict[str, Any] = remembered(_cells, text)
    return found


def _cells(text: str) -> dict[str, Any]:
    ast.parse(text)  # a percent-format source is itself Python, so that the line of an error is the file's own
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return dict(notebook)


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


def faults_of_comments(notebook: Notebook) -> list[str]:
    """Parameters whose comments state another range than ``require``, or the same in other words."""
    return [
        f"{notebook.name}: the comment of {one.name} says '{one.comment}', which has to be '{wanted}'"
        for one in notebook.parameters
        if one.rule and (wanted := comment_with(one.comment, one.rule)) != one.comment
    ]


def with_ranges(notebook: Notebook) -> str:
    """The text of the source, with the range of every parameter in its comment as ``require`` has it."""
    text = text_of(notebook.path)
    for one in notebook.parameters:
        if one.rule:
            line = re.compile(rf"^({re.escape(one.name)} = .*# ){re.escape(one.comment)}$", re.MULTILINE)
            wanted = comment_with(one.comment, one.rule).replace("\\", r"\\")
            text = line.sub(rf"\g<1>{wanted}", text, count=1)
    return text


def parameters_of(notebook: NotebookNode, name: str) -> list[Parameter]:
    """What the cell tagged ``parameters`` sets, each with the range that ``require`` states for it.

    Raises:
        SourceError: no such cell, more than one, or a line that is not ``name = plain value``.
    """
    tagged = [cell for cell in notebook.cells if PARAMETERS_TAG in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise SourceError(f"{name}: one cell must be tagged '{PARAMETERS_TAG}', found {len(tagged)}")
    source = tagged[0].source
    comments = _comments(source)
    defaults, said = {}, {}
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                defaults[target] = _literal(value, name, target)
                said[target] = comments.get(statement.end_lineno or statement.lineno, "")
            case _:
                raise SourceError(f"{name}: the parameters cell holds only lines 'name = value'")
    rules = rules_of(code_of(notebook), defaults)
    return [Parameter(target, value, said[target], rules.get(target)) for target, value in defaults.items()]


def _literal(value: ast.expr, notebook: str, target: str) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError as error:
        raise SourceError(f"{notebook}: the default of '{target}' must be a plain value") from error


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string.lstrip("# ").rstrip() for token in tokens if token.type == tokenize.COMMENT}
