"""The encodings on vocabularies made by hand, and against the ``transformers`` library where it is installed."""

import json
from pathlib import Path

import pytest

from attention_theory.data.tokenizers import _byte_pairs, _word_pieces, load_tokenizer

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "the",
    "play",
    "##ing",
    "##ed",
    "re",
    "##play",
    ",",
    "cafe",
    "'",
    "s",
    "中",
]
MERGES = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "n"), ("in", "g"), ("Ġ", "p"), ("l", "a"), ("la", "y")]


def vocabulary_of_bytes() -> dict[str, int]:
    alone = [chr(n) for n in (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 256 + 68))]
    return {piece: number for number, piece in enumerate(alone + [a + b for a, b in MERGES])}


def test_word_pieces_by_hand() -> None:
    encode = _word_pieces({piece: number for number, piece in enumerate(PIECES)})
    assert encode("Playing, REPLAYED") == [5, 6, 10, 8, 9, 7]
    assert encode("Café's") == [11, 12, 13]
    assert encode("the中the nothing") == [4, 14, 4, 1]
    assert encode("a" * 200) == [1]


def test_byte_pairs_by_hand() -> None:
    numbers = vocabulary_of_bytes()
    encode = _byte_pairs(numbers, MERGES)
    assert encode("the the") == [numbers["the"], numbers["Ġthe"]]
    assert encode(" playing") == [numbers["Ġp"], numbers["lay"], numbers["ing"]]
    names = {number: piece for piece, number in numbers.items()}
    assert "".join(names[number] for number in encode("a\n\n  b")) == "aĊĊĠĠb"
    assert [names[number] for number in encode("é")] == ["Ã", "©"]


def test_the_folder_says_which(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"vocab\.txt"):
        load_tokenizer(tmp_path)
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary_of_bytes()))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(pair) for pair in MERGES) + "\n")
    assert load_tokenizer(tmp_path)("the") == [vocabulary_of_bytes()["the"]]
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    assert load_tokenizer(tmp_path)("the") == [4]
