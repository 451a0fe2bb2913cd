"""What the press adds to Sphinx: columns of numbers, formulas and scripts from nowhere else, and downloads that run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes

from bookpress.site import instruments
from bookpress.site.extension import (
    TableColumns,
    _are_numbers,
    _copy_instruments,
    _copy_mathjax,
    _drop_thebe,
    _load_instruments,
    _offer_own_notebooks,
    _use_own_mathjax,
    _work_in_parallel,
)


@pytest.mark.parametrize(
    ("texts", "are"),
    [
        (["1", "2.5", "1e-3"], True),
        (["−1", "12\u202f000", "5%", "inf"], True),
        (["1", "", "–", "—", "-"], True),  # what is left empty, or dashed, says nothing
        (["", "–"], False),
        ([], False),
        (["1", "one"], False),
        (["%5"], False),
        (["1 2"], False),
    ],
)
def test_a_column_of_numbers_is_told_from_words(texts: list[str], are: bool) -> None:
    assert _are_numbers(texts) is are


def table(*rows: list[str], styled: bool = False) -> nodes.tgroup:
    """A table whose first row is its heading."""
    group = nodes.tgroup()
    for row in rows:
        line = nodes.row()
        for text in row:
            entry = nodes.entry("", nodes.paragraph("", text))
            if styled and row is rows[0]:
                entry["classes"].append("text-left")
            line += entry
        group += line
    return group


def test_columns_of_numbers_are_set_right_with_their_headings() -> None:
    document = nodes.Element()
    document += [table(["name", "loss"], ["a", "0.5"], ["b", "–"]), table(["loss"], ["1"], styled=True)]
    TableColumns.run(SimpleNamespace(document=document))  # type: ignore[arg-type]
    first, second = document.findall(nodes.tgroup)
    assert [entry["classes"] for entry in first.findall(nodes.entry)] == [[], ["text-right"]] * 3
    assert [entry["classes"] for entry in second.findall(nodes.entry)] == [["text-left"], []]


def test_cells_with_sentences_are_told_from_names() -> None:
    document = nodes.Element()
    document += table(["why", "model"], ["The rounding of slopes is not yet seen, or hangs on the margin.", "Origin"])
    row = document[0][1]
    row += nodes.entry(
        "", nodes.paragraph("", "", nodes.math("", r"\frac{1}{n} \sum_{i=1}^{n} \left\lVert x_i \right\rVert"))
    )
    TableColumns.run(SimpleNamespace(document=document))  # type: ignore[arg-type]
    assert [entry["classes"] for entry in document.findall(nodes.entry)] == [[], [], ["sentence"], [], []]


def test_formulas_are_drawn_from_the_site_itself() -> None:
    config: Any = SimpleNamespace(mathjax_path="https://elsewhere", html_context={})
    _use_own_mathjax(SimpleNamespace(), config)  # type: ignore[arg-type]
    assert config.mathjax_path.startswith("mathjax/")
    assert config.html_context == {"default_mode": "auto"}


def test_only_what_loads_live_code_from_elsewhere_is_dropped() -> None:
    def kept() -> None: ...

    def dropped() -> None: ...

    dropped.__module__ = "sphinx_thebe.something"
    listeners = {"a": [SimpleNamespace(handler=kept), SimpleNamespace(handler=dropped)], "b": []}
    _drop_thebe(SimpleNamespace(events=SimpleNamespace(listeners=listeners)))  # type: ignore[arg-type]
    assert [[one.handler for one in some] for some in listeners.values()] == [[kept], []]


def test_all_cores_read_and_only_the_silent_are_spoken_for() -> None:
    extensions = {
        name: SimpleNamespace(parallel_read_safe=None) for name in ("sphinx_multitoc_numbering", "an_extension")
    }
    app: Any = SimpleNamespace(extensions=extensions, parallel=0)
    _work_in_parallel(app, None, [])  # type: ignore[arg-type]
    assert [one.parallel_read_safe for one in extensions.values()] == [True, None]
    assert app.parallel >= 1


@pytest.fixture
def app(tmp_path: Path) -> Any:
    """A site that has been made, of a book with one notebook and an instrument."""
    for name, text in {
        "notebooks/demo/page.ipynb": "runs",
        "book/static/instruments/load.js": "loader",
        "book/generated/instruments/weights.json": "weights",
        "html/_sources/notebooks/demo/page.ipynb": "made",
        "html/_sources/index.md": "made",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return SimpleNamespace(
        srcdir=str(tmp_path / "book"), outdir=str(tmp_path / "html"), builder=SimpleNamespace(name="html")
    )


def test_a_whole_site_gets_formulas_instruments_and_notebooks_that_run(app: Any) -> None:
    for finish in (_copy_mathjax, _copy_instruments, _offer_own_notebooks):
        finish(app, None)
    made = Path(app.outdir)
    assert (made / "_static/mathjax/tex-mml-chtml.js").is_file()
    assert list((made / "_static/mathjax/output/chtml/fonts/woff-v2").glob("*.woff"))
    assert (made / "_static" / instruments.FOLDER / "load.js").read_text() == "loader"
    assert (made / "_static" / instruments.FOLDER / "weights.json").read_text() == "weights"
    assert (made / "_sources/notebooks/demo/page.ipynb").read_text() == "runs"
    assert (made / "_sources/index.md").read_text() == "made"
    for finish in (_copy_mathjax, _copy_instruments, _offer_own_notebooks):
        finish(app, None)  # a second build finds all of it there


@pytest.mark.parametrize(("failure", "builder"), [(ValueError(), "html"), (None, "linkcheck")])
def test_nothing_is_copied_into_what_is_no_site(app: Any, failure: Exception | None, builder: str) -> None:
    app.builder.name = builder
    for finish in (_copy_mathjax, _copy_instruments, _offer_own_notebooks):
        finish(app, failure)
    assert not Path(app.outdir, "_static").exists()
    assert Path(app.outdir, "_sources/notebooks/demo/page.ipynb").read_text() == "made"


def test_only_pages_with_an_instrument_load_its_script(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruments, "kilobytes", lambda _: {"a": 3})
    monkeypatch.setattr(instruments, "version", lambda _: "abc")
    loaded: list[tuple[str, dict[str, Any]]] = []
    app.add_css_file = lambda name: loaded.append((name, {}))
    app.add_js_file = lambda name, **options: loaded.append((name, options))
    for markup in (None, "<p>no instrument</p>"):
        page = None if markup is None else nodes.Element("", nodes.raw("", markup, format="html"))
        _load_instruments(app, "", "", {}, page)
    assert loaded == []
    page = nodes.Element("", nodes.raw("", '<div data-instrument="a"></div>', format="html"))
    _load_instruments(app, "", "", {}, page)
    (style, _), (script, options) = loaded
    assert (style, script) == (instruments.STYLE, instruments.LOADER)
    assert options == {"loading_method": "defer", "data-version": "abc", "data-kilobytes": '{"a": 3}'}
