"""Instruments: pages on which a reader works a machine of the book, in the browser, with the weights that it has here.

A page in ``book/instruments`` says by a ``<div class="instrument">`` where an instrument stands, by ``data-instrument``
its name, and by ``data-weights`` what it is given, in the words of ``book export``, with commas between several::

    <div class="instrument" data-instrument="subleq" data-weights="looped-transformers/subleq --layers 10">

What is given is written as a script, since a page that is opened as a file may load nothing else.
"""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

from bookpress.exits import Exit, Failure
from bookpress.files import digest, digest_of_file, write_whole
from bookpress.layout import Layout
from bookpress.site.package import ExportError, make_export

#: Where the instruments' scripts, style and data lie, below the site's static files.
FOLDER = "instruments"
#: The script that finds the instruments of a page and loads them when they are wanted, and the style of all.
LOADER, STYLE = f"{FOLDER}/instruments.js", f"{FOLDER}/instruments.css"
#: The most bytes that one instrument may be given.
MOST = 400_000

_MARK = re.compile(r'<div class="instrument"(?P<attributes>[^>]*)>')
_ATTRIBUTE = re.compile(r'data-(?P<name>\w+)="(?P<value>[^"]*)"')


class InstrumentError(Failure, code=Exit.USAGE):
    """An instrument's page or a request on it is not right."""


def instrument_pages(layout: Layout) -> list[Path]:
    return sorted((layout.book / FOLDER).glob("*.md"))


def instruments_of(text: str) -> dict[str, list[str]]:
    """The instruments of a page by their names, each with what it is given, as words for ``book export``.

    Raises:
        InstrumentError: one without a name that a script can have.
    """
    instruments = {}
    for mark in _MARK.finditer(text):
        attributes = dict(_ATTRIBUTE.findall(mark["attributes"]))
        name = attributes.get("instrument", "")
        if not re.fullmatch(r"[a-z]\w*", name):
            raise InstrumentError(f"data-instrument must be a name of letters and digits, got {name!r}")
        instruments[name] = [words for words in attributes.get("weights", "").split(",") if words.strip()]
    return instruments


def write_instruments(layout: Layout) -> None:
    """Write what each instrument is given, next to the made pages.

    Raises:
        InstrumentError: an instrument without a script, with too much data, or with weights that nothing makes.
    """
    for page in instrument_pages(layout):
        for name, weights in instruments_of(page.read_text(encoding="utf-8")).items():
            script = layout.book / "static" / FOLDER / f"{name}.js"
            if not script.is_file():
                raise InstrumentError(f"the instrument {name} has no script {script.relative_to(layout.root)}")
            write_whole(data_file(layout, name), _data_script(layout, name, weights))


def data_file(layout: Layout, name: str) -> Path:
    """Where what an instrument is given is written, as a script."""
    return layout.generated / "static" / FOLDER / f"{name}.data.js"


@cache
def version(layout: Layout) -> str:
    """A hash of all that the loader may load, so that no browser keeps old weights for new scripts."""
    return digest({path.name: digest_of_file(path) for path in _loaded(layout)})


@cache
def kilobytes(layout: Layout) -> dict[str, int]:
    """What is loaded for each instrument, script, style and data, in thousands of bytes."""
    bytes_of: Counter[str] = Counter()
    for path in _loaded(layout):
        bytes_of[path.name.partition(".")[0]] += path.stat().st_size
    return {name: -(-size // 1000) for name, size in bytes_of.items() if name != Path(LOADER).stem}


def _loaded(layout: Layout) -> list[Path]:
    folders = (layout.book / "static" / FOLDER, layout.generated / "static" / FOLDER)
    return [path for folder in folders for kind in ("*.js", "*.css") for path in sorted(folder.glob(kind))]


def _data_script(layout: Layout, instrument: str, weights: list[str]) -> str:
    """``window.instruments.data.NAME = {...}``: each export as its JSON file has it, under the thing's own name.

    Raises:
        InstrumentError: nothing makes the weights, or they are too many.
    """
    given = {}
    for words in weights:
        name, *options = words.split()
        try:
            content = make_export(layout, name, options, ".json")
        except ExportError as error:
            raise InstrumentError(f"the instrument {instrument}: {error}") from error
        given[name.rpartition("/")[2]] = json.loads(content, parse_float=_number)
    text = f"window.instruments.data.{instrument} = {json.dumps(given, separators=(',', ':'))};\n"
    if len(text) > MOST:
        raise InstrumentError(f"the instrument {instrument} is given {len(text)} bytes, at most {MOST} are allowed")
    return text


def _number(text: str) -> int | float:
    """A number, without a point where it is whole: to a script they are one kind."""
    value = float(text)
    return int(value) if value.is_integer() else value
