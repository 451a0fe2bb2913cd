"""Keeping each notebook in step: its statements with the registry, its .ipynb that is opened with its .py."""

from pathlib import Path

import nbformat

from bookpress.claims.registry import Registry
from bookpress.claims.statement import StatementError, restated
from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebooks.source import SourceError, parsed, text_of


def write_pairs(layout: Layout) -> int:
    """Write the statements into every source, then its .ipynb; the number of notebooks that changed."""
    off = _out_of_step(layout)
    for files in off.values():
        for path, text in files.items():
            write_whole(path, text)
    return len(off)


def unpaired(layout: Layout) -> list[str]:
    """Notebooks that state a claim otherwise than the registry, or whose .ipynb is not what the source says."""
    return list(_out_of_step(layout))


def _out_of_step(layout: Layout) -> dict[str, dict[Path, str]]:
    """For each such notebook the text that its two files must have."""
    registry = Registry.load(layout)
    off = {}
    for notebook in (*layout.notebooks(), *layout.point_notebooks()):
        source = layout.source(notebook)
        try:
            text = restated(text_of(source), registry)
        except StatementError as error:
            raise SourceError(f"{notebook}: {error}") from error
        files = {source: text, source.with_suffix(".ipynb"): _as_ipynb(text, source.name)}
        if any(not path.is_file() or text_of(path) != wanted for path, wanted in files.items()):
            off[notebook] = files
    return off


def _as_ipynb(text: str, name: str) -> str:
    """The notebook without outputs, and without the version of the tool that wrote it."""
    notebook = parsed(text, name)
    notebook.metadata["jupytext"] = {"formats": "ipynb,py:percent"}
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    written: str = nbformat.writes(notebook, version=4)
    return written.rstrip("\n") + "\n"
