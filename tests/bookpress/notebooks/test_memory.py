from pathlib import Path

import pytest

from bookpress.notebooks import memory
from bookpress.notebooks.memory import remembered

READ: list[str] = []


def words(text: str) -> list[str]:
    READ.append(text)
    if not text:
        raise ValueError("nothing to read")
    return text.split()


def lines(text: str) -> list[str]:
    return text.splitlines()


@pytest.fixture(autouse=True)
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOOKPRESS_ROOT", str(tmp_path))
    READ.clear()
    return tmp_path


def test_a_text_is_read_once_by_each_reader() -> None:
    assert remembered(words, "a b") == remembered(words, "a b") == ["a", "b"]
    assert remembered(lines, "a b") == ["a b"]
    assert remembered(words, "a c") == ["a", "c"]
    assert READ == ["a b", "a c"]


def test_what_is_damaged_is_read_again(book: Path) -> None:
    remembered(words, "a b")
    [kept] = (book / "build" / "memory").iterdir()
    kept.write_bytes(b'["a"')
    assert remembered(words, "a b") == ["a", "b"]
    assert READ == ["a b", "a b"]
    assert kept.read_text() == '["a", "b"]'


def test_other_code_finds_nothing_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    remembered(words, "a b")
    monkeypatch.setattr(memory, "_version_of", lambda reader: ("another",))
    remembered(words, "a b")
    assert READ == ["a b", "a b"]


def test_a_refusal_is_not_kept(book: Path) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="nothing to read"):
            remembered(words, "")
    assert READ == ["", ""]
    assert not list(book.iterdir())


def test_where_nothing_can_be_written_a_text_is_read_each_time(book: Path) -> None:
    (book / "build").write_text("a file where the folder would be")
    assert remembered(words, "a b") == remembered(words, "a b") == ["a", "b"]
    assert READ == ["a b", "a b"]
