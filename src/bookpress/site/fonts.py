"""The book's own letters: a text face and a display face, cut down to what the pages write and copied into the site.

They come from wheels, under the SIL Open Font License. A cut font is a changed one, which may not bear the reserved
name, so that the pages know them as ``Book Text`` and ``Book Display``; the licences lie beside them.
"""

import importlib.util
import shutil
from pathlib import Path

from fontTools.subset import Options, Subsetter, load_font, save_font
from sphinx.application import Sphinx

#: File of the site: package and file of the face.
FACES = {
    "text-regular": ("font_source_serif_pro", "SourceSerifPro-Regular.ttf"),
    "text-italic": ("font_source_serif_pro", "SourceSerifPro-It.ttf"),
    "text-semibold": ("font_source_serif_pro", "SourceSerifPro-Semibold.ttf"),
    "display-regular": ("font_source_sans_pro", "SourceSansPro-Regular.ttf"),
    "display-semibold": ("font_source_sans_pro", "SourceSansPro-Semibold.ttf"),
}
#: Latin with its accents, punctuation, Greek, arrows and the signs that stand between words. What else there is comes
#: from the reader's own fonts, and formulas from MathJax.
_LETTERS = [
    *range(0x20, 0x7F),
    *range(0xA0, 0x180),
    *range(0x391, 0x3CA),
    *range(0x2010, 0x2028),
    *range(0x2030, 0x203B),
    *map(ord, "€←↑→↓−√∞≈≠≤≥"),
]


def copy_fonts(app: Sphinx, failure: Exception | None) -> None:
    """Cut every face and write it under ``_static/fonts``; a listener of ``build-finished``."""
    if failure or app.builder.name != "html":
        return
    target = Path(app.outdir, "_static", "fonts")
    target.mkdir(parents=True, exist_ok=True)
    for name, (package, file) in FACES.items():
        cut(_folder(package) / file, target / f"{name}.woff")
    for package in sorted({package for package, _ in FACES.values()}):
        shutil.copy2(_folder(package) / "LICENSE.txt", target / f"{package}.LICENSE.txt")


def cut(source: Path, target: Path) -> None:
    """Write the part of a font that the pages need, the same bytes every time."""
    options = Options(
        flavor="woff",
        hinting=False,
        layout_features=["kern", "liga", "lnum", "tnum"],
        name_IDs=[13, 14],  # the licence and where it is
        obfuscate_names=True,
        recalc_timestamp=False,
    )
    font = load_font(str(source), options)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=_LETTERS)
    subsetter.subset(font)
    save_font(font, str(target), options)


def _folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise RuntimeError(f"{package} is not installed: the site would lack its letters")
    return Path(found.origin).parent / "files"
