"""Keeping each notebook's two faces together: the .py that is edited and the .ipynb that is opened."""

import nbformat
from nbformat import NotebookNode

from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebook import read_source


def write_pairs(layout: Layout) -> int:
    """Write the .ipynb of every source; the number of files that changed."""
    off = unpaired(layout)
    for notebook in off:
        path = layout.source(notebook).with_suffix(".ipynb")
        write_whole(path, _as_ipynb(layout, notebook))
    return len(off)


def unpaired(layout: Layout) -> list[str]:
    """Notebooks whose .ipynb is missing, carries outputs, or says something else than the source."""
    return [notebook for notebook in layout.notebooks() if not _in_step(layout, notebook)]


def _in_step(layout: Layout, notebook: str) -> bool:
    path = layout.source(notebook).with_suffix(".ipynb")
    return path.is_file() and path.read_text(encoding="utf-8") == _as_ipynb(layout, notebook)


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
