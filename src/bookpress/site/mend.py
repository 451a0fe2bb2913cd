"""What Sphinx and the theme write into a page that this book's readers cannot use, set right after the build."""

import re
import shutil
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx

#: Names and roles for what has none or old ones: texts as written, and as mended.
_ROLES = {
    "<summary><": '<summary aria-label="pages of this chapter"><',  # a toggle with an icon and no name
    'role="doc-biblioentry"': 'role="listitem"',  # deprecated, inside a list
    # a box that may scroll, which the keyboard must reach
    'class="pst-scrollable-table-container">': 'class="pst-scrollable-table-container" tabindex="0">',
}

#: What every page would load or say for nothing. The icons are there as a font already; its preloads are refused to
#: pages that are opened as files; docutils and the theme each write a viewport of their own.
_EMPTY_HEADED = re.compile(
    r'<script src="[^"]*fontawesome[^"]*\.js[^"]*"></script>\s*'
    r'|<link rel="preload" as="font"[^>]*>\s*'
    r'|<meta name="viewport" content="width=device-width, initial-scale=1(\.0)?" />'
)
_MATHJAX_SCRIPT = re.compile(r'<script defer="defer" src="[^"]*mathjax/[^"]*"></script>\s*')
#: A picture without its size: an incremental build leaves pages that are mended already.
_PICTURE = re.compile(
    r'<img (?![^>]* width=)(?P<attributes>[^>]*?src="(?P<source>[^"]*_images/[^"]*\.svg)"[^>]*?)\s*/?>'
)


def mend_pages(app: Sphinx, failure: Exception | None) -> None:
    """Mend every page of an HTML build; a listener of ``build-finished``."""
    if failure or app.builder.name != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if (mended := _mended(text, page.parent)) != text:
            page.write_text(mended, encoding="utf-8")
    shutil.rmtree(Path(app.outdir, "_static", "vendor", "fontawesome", "6.5.2", "js"), ignore_errors=True)


def _mended(text: str, folder: Path) -> str:
    for old, new in _ROLES.items():
        text = text.replace(old, new)
    text = _EMPTY_HEADED.sub("", text)
    if 'class="math' not in text:
        text = _MATHJAX_SCRIPT.sub("", text)
    first = _PICTURE.search(text)
    return _PICTURE.sub(lambda one: _sized(one, folder, late=first is not None and one.start() > first.start()), text)


def _sized(picture: re.Match[str], folder: Path, *, late: bool) -> str:
    """A picture with its size in pixels, so that a page does not jump when one below the first is loaded late."""
    width, height = _size((folder / picture["source"]).resolve())
    loading = ' loading="lazy"' if late else ""
    return (
        f'<img {picture["attributes"]} width="{width}" height="{height}" style="--drawn: {width}px"{loading} />'
        if width
        else f"<img {picture['attributes']}{loading} />"
    )


@cache
def _size(drawing: Path) -> tuple[int, int]:
    """Width and height of an SVG that gives them in points, as matplotlib does; zeros for another."""
    with drawing.open(encoding="utf-8") as text:
        head = text.read(2_000)
    sizes = [re.search(rf'<svg [^>]*?\b{name}="([\d.]+)pt"', head) for name in ("width", "height")]
    width, height = (round(float(found[1]) * 4 / 3) if found else 0 for found in sizes)
    return width, height
