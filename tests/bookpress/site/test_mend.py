"""What is mended in a built page."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bookpress.site.mend import mend_pages

SVG = '<?xml version="1.0"?>\n<svg height="150pt" version="1.1" width="300pt" viewBox="0 0 300 150"></svg>'
PAGE = """<html><head><meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1.0" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<link rel="preload" as="font" type="font/woff2" crossorigin href="a.woff2" />
<script src="_static/vendor/fontawesome/6.5.2/js/all.min.js?digest=1"></script>
<script defer="defer" src="_static/mathjax/tex-mml-chtml.js"></script>
<meta name="viewport" content="width=device-width, initial-scale=1"/></head>
<body><img alt="a" src="_images/a.svg" /><img alt="b" class="drawing" src="_images/a.svg" />FORMULA</body></html>
"""


def mend(folder: Path, formula: str = "") -> str:
    (folder / "_images").mkdir(exist_ok=True)
    (folder / "_images" / "a.svg").write_text(SVG)
    (folder / "index.html").write_text(PAGE.replace("FORMULA", formula))
    app: Any = SimpleNamespace(builder=SimpleNamespace(name="html"), outdir=str(folder))
    mend_pages(app, None)
    return (folder / "index.html").read_text()


def test_one_viewport_and_nothing_for_nothing(tmp_path: Path) -> None:
    text = mend(tmp_path)
    assert text.count("viewport") == 1
    assert "fontawesome" not in text
    assert "preload" not in text


def test_formulas_are_set_where_there_are_any(tmp_path: Path) -> None:
    assert "mathjax" not in mend(tmp_path)
    assert "mathjax" in mend(tmp_path, formula='<span class="math notranslate">x</span>')


def test_pictures_have_their_size_and_those_below_the_first_wait(tmp_path: Path) -> None:
    first, second = mend(tmp_path).partition("<img ")[2].split("<img ")
    assert 'width="400" height="200"' in first
    assert "lazy" not in first
    assert 'class="drawing"' in second
    assert 'loading="lazy"' in second


def test_mending_twice_changes_nothing_more(tmp_path: Path) -> None:
    text = mend(tmp_path)
    app: Any = SimpleNamespace(builder=SimpleNamespace(name="html"), outdir=str(tmp_path))
    mend_pages(app, None)
    assert (tmp_path / "index.html").read_text() == text
