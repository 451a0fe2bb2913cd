"""Reading a notebook's source: its code, its prose and its parameters."""

import ast
import difflib
import inspect
import io
import json
import re
import sys
import tokenize
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from bookpress.exits import Exit, Failure
from bookpress.files import digest, digest_of_file, write_whole
from bookpress.layout import Layout
from bookpress.notebooks.ranges import Rule, keywords_of, rules_of

#: The tags of the cell that sets the parameters, and of the one that papermill puts behind it.
PARAMETERS_TAG, INJECTED_TAG = "parameters", "injected-parameters"


class SourceError(Failure, code=Exit.USAGE):
    """A notebook's source does not have the form that the press needs; the message names the file."""


@dataclass(frozen=True)
class Parameter:
    """One line of the parameters cell: its name, the laptop value, the comment behind it and the range it may have."""

    name: str
    default: Any
    comment: str
    rule: Rule | None = None


@dataclass(frozen=True)
class Notebook:
    """One notebook of a book, by its name, with its title, its code without the prose, and its parameters.

    Raises:
        SourceError: there is no such source, or it cannot be read; at the first question about it.
    """

    name: str
    layout: Layout

    @property
    def path(self) -> Path:
        return self.layout.source(self.name)

    @classmethod
    def find(cls, name: str, layout: Layout) -> "Notebook":
        """A notebook by a name that a person has given.

        Raises:
            SourceError: the book lists no such name; another way to write a path is no name.
        """
        known = [*layout.notebooks(), *layout.point_notebooks()]
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            raise SourceError(f"there is no notebook {name!r}{hint}")
        return cls(name, layout)

    @cached_property
    def source(self) -> NotebookNode:
        """The notebook, with the kernel it is to run on."""
        path = self.find(self.name, self.layout).path
        return parsed(text_of(path), path.name)

    @cached_property
    def code(self) -> str:
        return code_of(self.source.cells)

    @cached_property
    def title(self) -> str:
        return title_of(self.source)

    @cached_property
    def parameters(self) -> list[Parameter]:
        """What the cell tagged ``parameters`` sets, each with the range that ``require`` states for it.

        Raises:
            SourceError: no such cell, more than one, or a line that is not ``name = plain value``.
        """
        tagged = [cell.source for cell in self.source.cells if PARAMETERS_TAG in cell.metadata.get("tags", [])]
        if len(tagged) != 1:
            raise SourceError(f"{self.name}: one cell must be tagged '{PARAMETERS_TAG}', found {len(tagged)}")
        tokens = tokenize.generate_tokens(io.StringIO(tagged[0]).readline)
        comments = {
            token.start[0]: token.string.lstrip("# ").rstrip() for token in tokens if token.type == tokenize.COMMENT
        }
        defaults, meanings = {}, {}
        for statement in ast.parse(tagged[0]).body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    try:
                        defaults[target] = ast.literal_eval(value)
                    except ValueError as error:
                        raise SourceError(f"{self.name}: the default of '{target}' must be a plain value") from error
                    meanings[target] = comments.get(statement.end_lineno or statement.lineno, "")
                case _:
                    raise SourceError(f"{self.name}: the parameters cell holds only lines 'name = value'")
        rules = rules_of(self.code, defaults)
        return [Parameter(target, value, meanings[target], rules.get(target)) for target, value in defaults.items()]

    @property
    def reported(self) -> list[str]:
        """The names of the numbers that ``report`` is called with."""
        return [name for name, _ in keywords_of("report", self.code)]

    @property
    def defaults(self) -> dict[str, Any]:
        """The laptop values of the parameters."""
        return {parameter.name: parameter.default for parameter in self.parameters}


def parsed(text: str, name: str) -> NotebookNode:
    """The notebook of a source's text.

    Raises:
        SourceError: the text is not Python; the message has the file's ``name`` and the line.
    """
    try:
        return nbformat.from_dict(remembered(_cells, text))
    except SyntaxError as error:
        raise SourceError(f"{name}, line {error.lineno}: {error.msg}") from error
    except ValueError as error:
        raise SourceError(f"{name}: {error}") from error


def text_of(path: Path) -> str:
    """The text of a source file, the same however its lines end.

    Raises:
        SourceError: the file is not UTF-8.
    """
    content = path.read_bytes()
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{path.name}, line {line}: not UTF-8 (byte 0x{content[error.start]:02x})") from error


def _cells(text: str) -> dict[str, Any]:
    """A source as plain data."""
    import jupytext  # a fifth of a second, which no source that has been parsed before needs

    ast.parse(text)  # a percent-format source is itself Python, so that the line of an error is the file's own
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return dict(notebook)


def remembered(reader: Callable[[str], Any], text: str) -> Any:
    """What ``reader`` makes of a text, as plain data: from an earlier command, or made now and kept for the next."""
    code = digest_of_file(Path(inspect.getfile(reader)))
    versions = (reader.__qualname__, code, metadata.version("jupytext"), sys.version)
    path = Layout.here().memory / digest(versions, text)
    with suppress(OSError, ValueError):  # not there, or damaged
        return json.loads(path.read_text(encoding="utf-8"))
    data = reader(text)
    with suppress(OSError):  # where nothing can be written, it is read again the next time
        write_whole(path, json.dumps(data))
    return data


def code_of(cells: Iterable[NotebookNode]) -> str:
    """The source of every code cell, in order."""
    return "\n# %%\n".join(cell.source for cell in cells if cell.cell_type == "code")


def title_of(notebook: NotebookNode) -> str:
    """The first heading."""
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    heading = re.search(r"^# (.*)", words, re.MULTILINE)
    return heading[1].strip() if heading else "Untitled"
