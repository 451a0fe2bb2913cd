"""Instruments: found by their pages, given what an export makes, and by nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from bookpress.notebooks.run import run
from bookpress.site.bind import bind_book
from bookpress.site.instruments import (
    InstrumentError,
    data_file,
    instrument_pages,
    instruments_of,
    kilobytes,
    version,
    write_instruments,
)
from bookpress.site.package import ExportError

EXPORT = """
import json

def lamp(bulbs: int = 2):
    return {".json": lambda: json.dumps({"bulbs": bulbs, "power": [1.0, 0.5], "text": "</script>"}).encode()}

EXPORTS = {"lamp": lamp}
"""

PAGE = """# A lamp

<div class="instrument" data-instrument="lamp" data-weights="%s">

Words.

</div>
"""


@pytest.fixture
def shop(shop: Any) -> Any:
    """The toy book with an instrument and what it is given."""
    scripts = shop.layout.book / "static" / "instruments"
    scripts.mkdir(parents=True)
    (scripts / "lamp.js").touch()
    add(shop, "lamp", "demo/lamp --bulbs 3, demo/lamp")
    return shop


def add(toy: Any, name: str, weights: str) -> Path:
    page: Path = toy.layout.book / "instruments" / f"{name}.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(PAGE % weights)
    return page


def test_what_is_given_is_a_script_under_the_names_of_the_exports(shop: Any) -> None:
    add(shop, "lamp", "demo/lamp --bulbs 3")
    write_instruments(shop.layout)
    text = data_file(shop.layout, "lamp").read_text()
    assert text == ('window.instruments.data.lamp = {"lamp":{"bulbs":3,"power":[1,0.5],"text":"</script>"}};\n')


def test_pages_are_in_order_and_what_they_need_is_bound(shop: Any) -> None:
    add(shop, "early", "demo/lamp")
    assert [path.stem for path in instrument_pages(shop.layout)] == ["early", "lamp"]
    run(shop.add("good"), layout=shop.layout)
    bind_book(shop.layout, "laptop")
    assert data_file(shop.layout, "lamp").is_file()


@pytest.mark.parametrize(
    ("weights", "said"),
    [("demo/torch", "there is no 'demo/torch'"), ("demo/lamp --bulb 1", "No such option .--bulb")],
)
def test_weights_that_nothing_makes_are_refused(shop: Any, weights: str, said: str) -> None:
    add(shop, "lamp", weights)
    with pytest.raises(InstrumentError, match=f"the instrument lamp: .*{said}"):
        write_instruments(shop.layout)


def test_an_instrument_without_a_script_or_with_too_much_is_refused(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookpress.site.instruments.MOST", 10)
    with pytest.raises(InstrumentError, match="at most 10 are allowed"):
        write_instruments(shop.layout)
    (shop.layout.book / "static" / "instruments" / "lamp.js").unlink()
    with pytest.raises(InstrumentError, match=r"no script book/static/instruments/lamp\.js"):
        write_instruments(shop.layout)


def test_a_name_must_be_one_that_a_script_can_have() -> None:
    with pytest.raises(InstrumentError, match="'a-b'"):
        instruments_of('<div class="instrument" data-instrument="a-b">')


def test_what_is_loaded_is_counted_in_kilobytes(shop: Any) -> None:
    (shop.layout.book / "static" / "instruments" / "lamp.js").write_text("x" * 1500)
    (shop.layout.book / "static" / "instruments" / "instruments.js").write_text("x" * 5000)
    (shop.layout.book / "static" / "instruments" / "lamp.css").write_text("x" * 1000)
    write_instruments(shop.layout)
    assert kilobytes(shop.layout) == {"lamp": 3}


@pytest.mark.parametrize("file", ["lamp.js", "lamp.css"])
def test_the_version_follows_scripts_and_styles(shop: Any, file: str) -> None:
    before = version(shop.layout)
    version.cache_clear()
    (shop.layout.book / "static" / "instruments" / file).write_text("new")
    assert version(shop.layout) != before


def test_a_file_that_a_page_leads_to_is_made(shop: Any) -> None:
    run(shop.add("good"), layout=shop.layout)
    page = shop.layout.book / "rerun.md"
    page.write_text("Take {download}`a lamp <generated/exports/demo/lamp.json>`.")
    bind_book(shop.layout, "laptop")
    assert json.loads((shop.layout.generated / "exports" / "demo" / "lamp.json").read_text())["bulbs"] == 2
    page.write_text("Take {download}`a lamp <generated/exports/demo/lump.json>`.")
    with pytest.raises(ExportError, match="there is no 'demo/lump' to export"):
        bind_book(shop.layout, "laptop")
