"""The cut fonts: small, the same every time, with the letters that the book writes and without the reserved name."""

from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from bookpress.fonts import FACES, _folder, cut


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
