"""Writing notebooks: each in step with the registry and with its .ipynb, and the skeleton of a new one."""

import re
from pathlib import Path
from string import Template

import nbformat

from bookpress.claims.registry import Registry
from bookpress.claims.statement import StatementError, restated, short_label
from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebooks.source import SourceError, parsed, text_of


def write_pairs(layout: Layout) -> int:
    """Write the statements into every source, then its .ipynb; the number of notebooks that changed."""
    off = unpaired(layout)
    for files in off.values():
        for path, text in files.items():
            write_whole(path, text)
    return len(off)


def unpaired(layout: Layout) -> dict[str, dict[Path, str]]:
    """Notebooks that state a claim otherwise than the registry, or whose .ipynb is not what the source says.

    Each has the text that its two files must have.
    """
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
    return str(nbformat.writes(notebook, version=4)).rstrip("\n") + "\n"


def write_skeleton(paper: str, claim: str, layout: Layout, slug: str = "") -> Path:
    """Write ``notebooks/<paper>/<claim>_<slug>.py`` and its pair, for a claim that the registry holds.

    Raises:
        RegistryError: the registry holds no such claim.
        SourceError: there is a notebook of that name already, or ``slug`` cannot be part of its name.
    """
    registry = Registry.load(layout)
    entry = registry.entry(f"{paper}/{claim}")
    name = "_".join(part for part in (claim.replace("-", "_"), slug) if part)
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise SourceError(f"a notebook's name has lower case letters, digits and underscores, got {name!r}")
    path = layout.source(f"{paper}/{name}")
    if path.exists():
        raise SourceError(f"{path.name} is there already")
    skeleton = Path(__file__).with_name("skeleton.txt").read_text(encoding="utf-8")
    text = Template(skeleton).substitute(
        number=short_label(entry),
        title=entry.title or "its title",
        authors=next(article.authors or article.title for article in registry.papers if article.name == paper),
        where=", ".join(part for part in (short_label(entry), entry.where) if part),
        claim=f"{paper}/{claim}",
        check="\n".join(f"# {line}" for line in entry.check.strip().splitlines()),
    )
    write_whole(path, text)
    write_pairs(layout)
    return path
