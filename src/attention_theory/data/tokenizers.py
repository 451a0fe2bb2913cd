"""Text to the token numbers of published BERT and GPT-2 models, from the vocabulary files of their checkpoints.

BERT has ``vocab.txt``, a piece a line; GPT-2 has ``vocab.json`` and ``merges.txt``.
"""

import json
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

#: Words of GPT-2: endings, letters, digits, other marks, space. Python's classes take a few rare digits for letters.
_GPT2_WORD = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
_LONGEST = 100  # letters of a word that BERT still cuts into pieces


def load_tokenizer(folder: Path) -> Callable[[str], list[int]]:
    """The encoding that a checkpoint's vocabulary files describe: text to token numbers, no special token added.

    Raises:
        FileNotFoundError: the folder holds neither kind of vocabulary.
    """
    if (folder / "vocab.txt").exists():
        lines = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        return _word_pieces({piece: number for number, piece in enumerate(lines)})
    if (folder / "vocab.json").exists() and (folder / "merges.txt").exists():
        numbers = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        lines = (folder / "merges.txt").read_text(encoding="utf-8").splitlines()
        pairs = [tuple(line.split(" ")) for line in lines if line.count(" ") == 1 and not line.startswith("#version")]
        return _byte_pairs(numbers, [(first, second) for first, second in pairs])
    raise FileNotFoundError(f"neither vocab.txt nor vocab.json with merges.txt in {folder}")


def _word_pieces(numbers: dict[str, int]) -> Callable[[str], list[int]]:
    """BERT's encoding, lower case: the longest known piece from the left, inner ones marked by ``##``.

    Args:
        numbers: pieces to numbers; ``[UNK]`` stands for words that cannot be put together.
    """
    unknown = numbers["[UNK]"]

    @lru_cache(maxsize=100_000)
    def pieces(word: str) -> tuple[int, ...]:
        found, begin = [], 0
        while begin < len(word) <= _LONGEST:
            mark = "##" if begin else ""
            end = next((end for end in range(len(word), begin, -1) if mark + word[begin:end] in numbers), None)
            if end is None:
                return (unknown,)
            found.append(numbers[mark + word[begin:end]])
            begin = end
        return tuple(found) or (unknown,)

    return lambda text: [number for word in _basic_words(text) for number in pieces(word)]


def _basic_words(text: str) -> list[str]:
    """Lower case, accents taken off, every mark and every Chinese sign a separate word."""
    bare = (sign for sign in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(sign) != "Mn")
    return "".join(f" {sign} " if _stands_alone(sign) else _visible(sign) for sign in bare).split()


def _visible(sign: str) -> str:
    """A sign, a space for any kind of space, nothing for signs that are not shown."""
    if sign.isspace():
        return " "
    return "" if sign in "\0\ufffd" or unicodedata.category(sign).startswith("C") else sign


def _stands_alone(sign: str) -> bool:
    ascii_mark = sign.isascii() and sign.isprintable() and not sign.isalnum() and not sign.isspace()
    chinese = 0x4E00 <= ord(sign) <= 0x9FFF or 0x3400 <= ord(sign) <= 0x4DBF or 0xF900 <= ord(sign) <= 0xFAFF
    return ascii_mark or chinese or unicodedata.category(sign).startswith("P")


def _byte_pairs(numbers: dict[str, int], merges: list[tuple[str, str]]) -> Callable[[str], list[int]]:
    """GPT-2's encoding: the bytes of a word, written as visible signs, joined pair by pair, earlier merges first."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    signs = _signs_of_bytes()

    @lru_cache(maxsize=100_000)
    def joined(word: str) -> tuple[int, ...]:
        parts = [signs[byte] for byte in word.encode()]
        while len(parts) > 1:
            best = min(range(len(parts) - 1), key=lambda i: ranks.get((parts[i], parts[i + 1]), len(ranks)))
            if (parts[best], parts[best + 1]) not in ranks:
                break
            parts[best : best + 2] = [parts[best] + parts[best + 1]]
        return tuple(numbers[part] for part in parts)

    return lambda text: [number for word in _GPT2_WORD.findall(text) for number in joined(word)]


def _signs_of_bytes() -> list[str]:
    """A visible sign for each of the 256 bytes: itself where it is one, the signs from number 256 on for the others."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [byte for byte in range(256) if byte not in shown]
    return [chr(byte) if byte in shown else chr(256 + hidden.index(byte)) for byte in range(256)]
