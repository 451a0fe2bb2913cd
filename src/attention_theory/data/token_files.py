"""Text as token files: written once, memory-mapped when read, so that a corpus need not fit in memory.

A folder holds shards ``train-00000.bin``, ``train-00001.bin``, ... and ``validation-00000.bin``, ..., each the token
numbers one after another as little-endian 16-bit integers, and ``tokens.json`` with the vocabulary size, the number of
tokens and the SHA-256 of every shard. This is how OpenWebText is prepared for the models of Tables 1 and 2; see
:mod:`attention_theory.data.prepare_tokens`.
"""

import hashlib
import importlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import Generator, Tensor

from attention_theory.data.library_sources import LIBRARY_SHA256, ascii_documents, library_sources, text_hash
from attention_theory.validation import ParameterError, require

_DTYPE = np.dtype("<u2")


@dataclass(frozen=True)
class _Tokens:
    """A run of tokens in one or several shards, each memory-mapped or in memory."""

    shards: Sequence[np.ndarray]
    vocabulary: int

    def __len__(self) -> int:
        return sum(len(shard) for shard in self.shards)

    def windows(
        self, count: int, length: int, draw: Generator
    ) -> tuple[Int[Tensor, "count length"], Int[Tensor, "count length"]]:
        """Random windows and, for every token in them, the next one. No window crosses the end of a shard.

        Raises:
            ParameterError: a shard is not longer than a window.
        """
        self._require_longer_than(length)
        starts = np.array([len(shard) - length for shard in self.shards])
        ends = starts.cumsum()
        places = torch.randint(int(ends[-1]), (count,), generator=draw).numpy()
        shard = np.searchsorted(ends, places, side="right")
        first = places - (ends - starts)[shard]
        return self._cut(zip(shard, first, strict=True), length)

    def every_window(
        self, length: int, most: int | None = None
    ) -> tuple[Int[Tensor, "count length"], Int[Tensor, "count length"]]:
        """Windows side by side over all tokens, at most ``most`` of them, spread evenly, for validation."""
        self._require_longer_than(length)
        places = [(n, start) for n, shard in enumerate(self.shards) for start in range(0, len(shard) - length, length)]
        step = 1 if most is None else max(1, len(places) // most)
        return self._cut(places[::step][:most], length)

    def _require_longer_than(self, length: int) -> None:
        require(length=(length, 1, None))
        shortest = min(len(shard) for shard in self.shards)
        if shortest <= length:
            raise ParameterError(f"every shard must be longer than a window of {length} tokens, got one of {shortest}")

    def _cut(self, places: Iterable[tuple[int, int]], length: int) -> tuple[Tensor, Tensor]:
        rows = np.stack([self.shards[shard][start : start + length + 1] for shard, start in places])
        windows = torch.from_numpy(rows.astype(np.int64))
        return windows[:, :-1], windows[:, 1:]


def write_tokens(
    documents: Iterable[str],
    folder: Path,
    encode: Callable[[str], list[int]],
    vocabulary: int,
    validation_every: int = 2000,
    shard_tokens: int = 100_000_000,
) -> None:
    """Encode documents into token files in ``folder``, every ``validation_every``-th into the validation split.

    Args:
        documents: the texts, in order.
        folder: made if it does not exist; must not hold token files.
        encode: a text to its token numbers, the mark between documents included.
        vocabulary: the number of different tokens, at most 65536.
        validation_every: at least 2.
        shard_tokens: a shard is closed at the end of the document that takes it past this size.

    Raises:
        ParameterError: an argument out of range, token files already there, or a token outside the vocabulary.
    """
    require(
        vocabulary=(vocabulary, 1, 65536),
        validation_every=(validation_every, 2, None),
        shard_tokens=(shard_tokens, 1, None),
    )
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "tokens.json").exists():
        raise ParameterError(f"folder must not hold token files already, got {folder}")
    shards: dict[str, dict[str, object]] = {}
    waiting: dict[str, list[np.ndarray]] = {"train": [], "validation": []}

    def close(split: str) -> None:
        tokens = np.concatenate(waiting[split])
        number = sum(name.startswith(split) for name in shards)
        path = folder / f"{split}-{number:05d}.bin"
        path.write_bytes(tokens.tobytes())
        shards[path.name] = {"tokens": len(tokens), "sha256": hashlib.sha256(tokens.tobytes()).hexdigest()}
        waiting[split] = []

    for number, document in enumerate(documents):
        split = "validation" if number % validation_every == validation_every - 1 else "train"
        tokens = np.array(encode(document))
        if tokens.size and not 0 <= tokens.min() <= tokens.max() < vocabulary:
            span = f"{tokens.min()} to {tokens.max()}"
            raise ParameterError(f"encode must give tokens from 0 to {vocabulary - 1}, got {span}")
        waiting[split].append(tokens.astype(_DTYPE))
        if sum(map(len, waiting[split])) >= shard_tokens:
            close(split)
    for split, rest in waiting.items():
        if rest:
            close(split)
    description = {"vocabulary": vocabulary, "shards": shards}
    (folder / "tokens.json").write_text(json.dumps(description, indent=2), encoding="utf-8")


def open_tokens(folder: Path) -> tuple[_Tokens, _Tokens]:
    """The training and the validation tokens of a folder, memory-mapped.

    Raises:
        ParameterError: no token files there, or a shard of another size than ``tokens.json`` says.
    """
    listing = folder / "tokens.json"
    if not listing.exists():
        raise ParameterError(f"folder must hold tokens.json and the shards that it lists, got {folder}")
    description = json.loads(listing.read_text(encoding="utf-8"))

    def split(name: str) -> _Tokens:
        shards = []
        for file, about in description["shards"].items():
            if file.startswith(name):
                shard = np.memmap(folder / file, _DTYPE, mode="r")
                if len(shard) != about["tokens"]:
                    raise ParameterError(f"{file} must hold {about['tokens']} tokens, got {len(shard)}")
                shards.append(shard)
        if not shards:
            raise ParameterError(f"folder must hold at least one {name} shard, got {folder}")
        return _Tokens(shards, description["vocabulary"])

    return split("train"), split("validation")


@dataclass(frozen=True)
class Corpus:
    """The tokens that a language model is trained and validated on, and their source in words."""

    train: _Tokens
    validation: _Tokens
    source: str


def open_corpus(folder: str = "") -> Corpus:
    """The token files of a folder, or the stand-in where none is given: the sources of Python's standard library.

    Raises:
        ParameterError: as :func:`open_tokens`, or as :func:`library_sources`.
    """
    if folder:
        return Corpus(*open_tokens(Path(folder)), f"token files in {folder}")
    documents = library_sources()
    release = "the pinned text" if text_hash(documents) == LIBRARY_SHA256 else "ANOTHER RELEASE THAN THE PINNED ONE"
    train, validation = (_Tokens([part], 128) for part in ascii_documents(documents))
    return Corpus(train, validation, f"sources of Python's standard library, {release}")


def gpt2_encoding() -> tuple[Callable[[str], list[int]], int]:
    """The byte-pair encoding of GPT-2 (50257 tokens), each document closed by the end-of-text mark.

    Needs the optional package ``tiktoken``, which fetches the encoding's tables the first time.

    Raises:
        ModuleNotFoundError: ``tiktoken`` is not installed.
    """
    try:
        tiktoken = importlib.import_module("tiktoken")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("the GPT-2 encoding needs an optional package: pip install tiktoken") from error
    encoding = tiktoken.get_encoding("gpt2")
    return lambda text: [*encoding.encode_ordinary(text), encoding.eot_token], encoding.n_vocab
