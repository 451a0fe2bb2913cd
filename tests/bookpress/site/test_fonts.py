"""The cut fonts: small, the same every time, with the letters that the book writes and without the reserved name."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fontTools.ttLib import TTFont

from bookpress.site import fonts
from bookpress.site.fonts import FACES, _folder, copy_fonts, cut


@pytest.mark.parametrize("name", FACES)
def test_a_face_is_small_whole_and_made_the_same_twice(name: str, tmp_path: Path) -> None:
    package, file = FACES[name]
    first, again = tmp_path / "first.woff", tmp_path / "again.woff"
    for target in (first, again):
        cut(_folder(package) / file, target)
    assert first.read_bytes() == again.read_bytes()
    assert first.stat().st_size < 40_000
    font = TTFont(first)
    letters = font.getBestCmap()
    assert {ord(letter) for letter in "Aßéč“”–−≤×·"} <= set(letters)
    assert not any("Source" in str(record) for record in font["name"].names if record.nameID < 10)


def letters_of(path: Path) -> set[str]:
    return {chr(one) for one in TTFont(path).getBestCmap()}


@pytest.mark.parametrize("name", FACES)
def test_a_face_has_the_letters_that_are_promised_and_no_others(name: str, tmp_path: Path) -> None:
    package, file = FACES[name]
    cut(_folder(package) / file, tmp_path / "face.woff")
    had, kept = letters_of(_folder(package) / file), letters_of(tmp_path / "face.woff")
    ends = {" ", "~", "\N{NO-BREAK SPACE}", "ſ", "Α", "ω", "‐", "…", "‰", "›", *"€←↑→↓−√∞≈≠≤≥"}
    assert kept >= ends & had
    assert {" ", "~", "…", "‰", "›", "€", "≥"} <= kept
    assert kept.isdisjoint({"\x7f", "ƀ", "ΐ", "ϊ", "\N{LINE SEPARATOR}", "※", "‼", "Д", "☺"})
    assert len(kept) < len(had)


def test_a_cut_face_keeps_its_kerning_and_its_licence(tmp_path: Path) -> None:
    package, file = FACES["text-regular"]
    cut(_folder(package) / file, tmp_path / "face.woff")
    font = TTFont(tmp_path / "face.woff")
    assert font.flavor == "woff"
    assert {one.FeatureTag for one in font["GPOS"].table.FeatureList.FeatureRecord} == {"kern"}
    assert {one.FeatureTag for one in font["GSUB"].table.FeatureList.FeatureRecord} <= {"liga", "lnum", "tnum"}
    assert {13, 14} <= {one.nameID for one in font["name"].names}
    assert "fpgm" not in font  # no instructions for coarse screens
    assert font["head"].modified == TTFont(_folder(package) / file)["head"].modified


def test_a_site_gets_every_face_and_the_licences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "cut", lambda source, target: target.write_text(source.name))
    app: Any = SimpleNamespace(outdir=str(tmp_path), builder=SimpleNamespace(name="html"))
    for _ in range(2):  # a second build finds the folder there
        copy_fonts(app, None)
    folder = tmp_path / "_static" / "fonts"
    assert {path.name: path.read_text() for path in folder.glob("*.woff")} == {
        f"{name}.woff": file for name, (_, file) in FACES.items()
    }
    assert sorted(path.name for path in folder.glob("*.txt")) == [
        "font_source_sans_pro.LICENSE.txt",
        "font_source_serif_pro.LICENSE.txt",
    ]


@pytest.mark.parametrize(("failure", "builder"), [(ValueError(), "html"), (None, "linkcheck")])
def test_what_is_no_site_gets_none(failure: Exception | None, builder: str, tmp_path: Path) -> None:
    app: Any = SimpleNamespace(outdir=str(tmp_path), builder=SimpleNamespace(name=builder))
    copy_fonts(app, failure)
    assert list(tmp_path.iterdir()) == []


def test_a_font_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="no_such_font is not installed: the site would lack its letters"):
        _folder("no_such_font")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: SimpleNamespace(origin=None))
    with pytest.raises(RuntimeError, match="is not installed"):
        _folder("font_source_serif_pro")
