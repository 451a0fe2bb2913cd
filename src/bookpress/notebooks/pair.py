"""Keeping each notebook in step: its statements with the registry, its .ipynb that is opened with its .py."""

import nbformat
from nbformat import NotebookNode

from bookpress.claims.registry import Registry
from bookpress.claims.statement import StatementError, restated
from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebooks.source import SourceError, read_source


def write_pairs(layout: Layout) -> int:
    """Write the statements into every source, then its .ipynb; the number of notebooks that changed."""
    registry = Registry.load(layout)
    off = [notebook for notebook in _all(layout) if not _in_step(layout, notebook, registry)]
    for notebook in off:
        path = layout.source(notebook)
        write_whole(path, _restated(layout, notebook, registry))
        write_whole(path.with_suffix(".ipynb"), _as_ipynb(layout, notebook))
    return len(off)


def unpaired(layout: Layout) -> list[str]:
    """Notebooks that state a claim otherwise than the registry, or whose .ipynb is not what the source says."""
    registry = Registry.load(layout)
    return [notebook for notebook in _all(layout) if not _in_step(layout, notebook, registry)]


def _all(layout: Layout) -> list[str]:
    return [*layout.notebooks(), *layout.point_notebooks()]


def _in_step(layout: Layout, notebook: str, registry: Registry) -> bool:
    pair = layout.source(notebook).with_suffix(".ipynb")
    return (
        _text(layout, notebook) == _restated(layout, notebook, registry)
        and pair.is_file()
        and pair.read_text(encoding="utf-8") == _as_ipynb(layout, notebook)
    )


def _restated(layout: Layout, notebook: str, registry: Registry) -> str:
    try:
        return restated(_text(layout, notebook), registry)
    except StatementError as error:
        raise SourceError(f"{notebook}: {error}") from error


def _text(layout: Layout, notebook: str) -> str:
    try:
        return layout.source(notebook).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(f"{notebook}.py is not UTF-8: {error}") from error


def _as_ipynb(layout: Layout, notebook: str) -> str:
    source: NotebookNode = read_source(layout.source(notebook))
    for number, cell in enumerate(source.cells):
        cell["id"] = f"cell-{number}"
    text: str = nbformat.writes(nbformat.from_dict(jupytext_free(source)), version=4)
    return text.rstrip("\n") + "\n"


def jupytext_free(notebook: NotebookNode) -> NotebookNode:
    """The notebook with the pairing named in its metadata and no version of the tool that wrote it."""
    notebook.metadata["jupytext"] = {"formats": "ipynb,py:percent"}
    return notebook
