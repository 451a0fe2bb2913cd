"""What a package offers as files, found by the module's place and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from bookpress import cli
from bookpress.site.package import ExportError, find_exports, make_export

EXPORT = '''
def lamp(bulbs: int = 2, power: float = 0.5, colour: str = "red"):
    """A lamp.

    And more of it.
    """
    if bulbs < 1:
        raise ValueError(f"bulbs must be at least 1, got {bulbs}")
    text = f"{bulbs} {power} {colour}"
    return {".txt": lambda: text.encode(), ".bin": lambda: bytes([bulbs])}

EXPORTS = {"lamp": lamp}
'''


def test_a_book_that_offers_nothing_says_so(toy: Any) -> None:
    assert find_exports(toy.layout) == {}
    with pytest.raises(ExportError, match="there are: none"):
        make_export(toy.layout, "demo/lamp", [], ".txt")


def test_options_come_as_words_and_arrive_as_what_they_are(shop: Any) -> None:
    texts = ["--bulbs", "3", "--power=1.5", "--colour", "blue"]
    assert make_export(shop.layout, "demo/lamp", texts, ".txt") == b"3 1.5 blue"
    assert make_export(shop.layout, "demo/lamp", [], ".bin") == b"\x02"


@pytest.mark.parametrize(
    ("texts", "ending", "said"),
    [
        (["--lamps", "3"], ".txt", "No such option"),
        (["--bulbs", "many"], ".txt", "--bulbs': 'many' is not a valid int"),
        (["--power", "much"], ".txt", "--power': 'much' is not a valid float"),
        (["--bulbs", "0"], ".txt", "bulbs must be at least 1, got 0"),
        (["--bulbs"], ".txt", "requires an argument"),
        (["3", "4"], ".txt", "unexpected extra arguments"),
        ([], ".png", "written as .txt or .bin, got .png"),
    ],
)
def test_what_is_not_offered_is_refused(shop: Any, texts: list[str], ending: str, said: str) -> None:
    with pytest.raises(ExportError, match=said):
        make_export(shop.layout, "demo/lamp", texts, ending)


def test_the_command_lists_writes_and_refuses(
    shop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def book(*arguments: str) -> int:
        monkeypatch.setattr("sys.argv", ["book", *arguments])
        try:
            cli.main()
        except SystemExit as end:
            return int(end.code or 0)
        return 0

    assert book("export") == 0
    assert "demo/lamp: A lamp.\n  --bulbs 2  --power 0.5  --colour red" in capsys.readouterr().out
    path = tmp_path / "out" / "lamp.txt"
    assert book("export", "demo/lamp", "--bulbs", "3", "-o", str(path)) == 0
    assert path.read_text() == "3 0.5 red"
    assert book("export", "demo/lamp") == 2
    assert "-o FILE" in capsys.readouterr().err
    assert book("export", "demo/table", "-o", str(path)) == 2
    assert "there are: demo/lamp" in capsys.readouterr().err
