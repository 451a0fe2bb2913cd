"""What the site needs of Sphinx: claims, formulas without a network, no other host, columns of numbers set right."""

import importlib.util
import json
import os
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

from bookpress.layout import Layout
from bookpress.site import claim_domain, findings, instruments
from bookpress.site.bind import forget_site, note_site
from bookpress.site.head import describe_page, draw_card, lead_edits_to_sources, use_repository_if_known
from bookpress.site.mend import mend_pages
from bookpress.site.typography import PointsStay, SetNumbers

#: The part of MathJax that a page with TeX needs: the combined component, its fonts, the TeX extensions.
_MATHJAX = ("tex-mml-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions")

#: The one is for LaTeX alone, the other numbers the parts once all are read.
_SILENT = {"sphinx_jupyterbook_latex", "sphinx_multitoc_numbering"}


def setup(app: Sphinx) -> dict[str, Any]:
    claim_domain.setup(app)
    findings.setup(app)
    app.add_post_transform(TableColumns)
    app.add_post_transform(SetNumbers)
    app.add_post_transform(PointsStay)
    app.connect("config-inited", _use_own_mathjax, priority=900)
    app.connect("builder-inited", _drop_thebe, priority=1)
    app.connect("env-before-read-docs", _work_in_parallel)
    app.connect("build-finished", _copy_mathjax)
    app.connect("build-finished", _copy_instruments)
    app.connect("build-finished", _offer_own_notebooks)
    app.connect("build-finished", mend_pages)
    app.connect("build-finished", draw_card)
    app.connect("builder-inited", _begin_site)
    app.connect("build-finished", _end_site, priority=999)  # after all that writes into the site
    app.connect("config-inited", use_repository_if_known)
    app.connect("html-page-context", describe_page)
    app.connect("html-page-context", _load_instruments)
    app.connect("html-page-context", lead_edits_to_sources, priority=600)  # after the theme has made its buttons
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


class TableColumns(SphinxPostTransform):
    """Set a table's columns of numbers to the right, heading and all, where the table itself does not say.

    Cells with sentences are named, so that a narrow screen leaves them room for more than a word a line.
    """

    default_priority = 900  # after MyST-NB has chosen which form of an output the page shows

    def run(self, **_: Any) -> None:
        for table in self.document.findall(nodes.tgroup):
            rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
            for heading, *column in zip(*rows, strict=False):
                for entry in column:
                    if _is_sentence(entry):
                        entry["classes"].append("sentence")
                if _are_numbers([entry.astext() for entry in column]) and not heading["classes"]:
                    for entry in (heading, *column):
                        entry["classes"].append("text-right")


def _is_sentence(entry: nodes.entry) -> bool:
    """Whether a cell has many words; the TeX of a formula is longer than what is drawn."""
    words = (str(text) for text in entry.findall(nodes.Text) if not isinstance(text.parent, nodes.math))
    return len(" ".join(words)) > 40


def _are_numbers(texts: list[str]) -> bool:
    """Whether every cell that says something is a number, and some cell does."""
    said = [text for text in texts if text.strip("-–— ")]
    return bool(said) and all(map(_is_number, said))


def _is_number(text: str) -> bool:
    try:
        float(text.replace("\u202f", "").replace("−", "-").rstrip("%"))
    except ValueError:
        return False
    return True


def _begin_site(app: Sphinx) -> None:
    forget_site(Layout(Path(app.srcdir).parent))


def _end_site(app: Sphinx, failure: Exception | None) -> None:
    """Note what a build made, unless it warned: the next build would not read that page again, and say nothing."""
    if failure is None and app.builder.name == "html" and not app._warncount:
        note_site(Layout(Path(app.srcdir).parent))


def _use_own_mathjax(_: Sphinx, config: Config) -> None:
    config.mathjax_path = "mathjax/tex-mml-chtml.js"
    config.html_context["default_mode"] = "auto"


def _drop_thebe(app: Sphinx) -> None:
    """sphinx-thebe would load a live-code script from another host on every page."""
    for listeners in app.events.listeners.values():
        listeners[:] = [
            one for one in listeners if not getattr(one.handler, "__module__", "").startswith("sphinx_thebe")
        ]


def _work_in_parallel(app: Sphinx, _env: BuildEnvironment, _names: list[str]) -> None:
    """All cores read and write. Two extensions do not say that they bear it, and do nothing while a page is read."""
    for name in _SILENT & app.extensions.keys():
        app.extensions[name].parallel_read_safe = True
    app.parallel = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _copy_mathjax(app: Sphinx, failure: Exception | None) -> None:
    """Copy the subset after the build: a static path would put every script of it onto every page."""
    if failure or app.builder.name != "html":
        return
    source, target = _mathjax_folder(), Path(app.outdir, "_static", "mathjax")
    for name in _MATHJAX:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)


def _load_instruments(
    app: Sphinx, _page: str, _template: str, _context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the loader to the pages that have an instrument, and to no other; it loads the rest when it is wanted."""
    if doctree is not None and any("data-instrument=" in one.astext() for one in doctree.findall(nodes.raw)):
        layout = Layout(Path(app.srcdir).parent)
        sizes = json.dumps(instruments.kilobytes(layout))
        attributes: dict[str, Any] = {"data-version": instruments.version(layout), "data-kilobytes": sizes}
        app.add_css_file(instruments.STYLE)
        app.add_js_file(instruments.LOADER, loading_method="defer", **attributes)


def _copy_instruments(app: Sphinx, failure: Exception | None) -> None:
    """Copy scripts and weights after the build: as scripts of the site they would stand on every page."""
    if failure or app.builder.name != "html":
        return
    layout = Layout(Path(app.srcdir).parent)
    target = Path(app.outdir, "_static", instruments.FOLDER)
    for folder in (layout.book / "static", layout.generated):
        if (folder / instruments.FOLDER).is_dir():
            shutil.copytree(folder / instruments.FOLDER, target, dirs_exist_ok=True)


def _offer_own_notebooks(app: Sphinx, failure: Exception | None) -> None:
    """A page's download is the repository's notebook, which runs, and not the page that was made from it."""
    if failure or app.builder.name != "html":
        return
    layout = Layout(Path(app.srcdir).parent)
    for page in Path(app.outdir, "_sources", "notebooks").rglob("*.ipynb"):
        notebook = page.relative_to(Path(app.outdir, "_sources", "notebooks")).with_suffix("").as_posix()
        shutil.copyfile(layout.source(notebook).with_suffix(".ipynb"), page)


def _mathjax_folder() -> Path:
    """The wheel's package is spelled with dashes, which an import statement cannot write."""
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise RuntimeError("sphinx-mathjax-offline is not installed: formulas would need the network")
    return Path(found.origin).parent / "static" / "mathjax"
