import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.data.library_sources import text_hash
from attention_theory.data.token_files import _Tokens, open_corpus, open_tokens, write_tokens
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError


def as_bytes(text: str) -> list[int]:
    return [*text.encode(), 0]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    documents = [f"document {number}" for number in range(10)]
    folder = tmp_path / "made" / "anew"
    write_tokens(documents, folder, as_bytes, 256, validation_every=5, shard_tokens=25)
    train, validation = open_tokens(folder)
    assert np.concatenate(validation.shards).tolist() == as_bytes("document 4") + as_bytes("document 9")
    kept = [number for number in range(10) if number not in (4, 9)]
    assert np.concatenate(train.shards).tolist() == [one for n in kept for one in as_bytes(documents[n])]
    assert len(train.shards) == 3
    assert all(isinstance(shard, np.memmap) for shard in train.shards)
    assert train.vocabulary == 256


def test_faulty_folders_and_tokens_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"tokens\.json"):
        open_tokens(tmp_path)
    with pytest.raises(ParameterError, match="encode must give tokens from 0 to 9"):
        write_tokens(["abc"], tmp_path, as_bytes, 10)
    write_tokens(["abc"] * 4, tmp_path, as_bytes, 256, validation_every=2)
    with pytest.raises(ParameterError, match="already"):
        write_tokens(["abc"], tmp_path, as_bytes, 256)
    (tmp_path / "train-00000.bin").write_bytes(b"1234")
    with pytest.raises(ParameterError, match=r"train-00000\.bin must hold 8 tokens, got 2"):
        open_tokens(tmp_path)
    listing = json.loads((tmp_path / "tokens.json").read_text())
    del listing["shards"]["train-00000.bin"]
    (tmp_path / "tokens.json").write_text(json.dumps(listing))
    with pytest.raises(ParameterError, match="at least one train shard"):
        open_tokens(tmp_path)


@given(st.lists(st.integers(6, 40), min_size=1, max_size=4), st.integers(1, 5), st.integers(0, 1000))
def test_windows_lie_in_one_shard_and_targets_come_next(sizes: list[int], length: int, seed: int) -> None:
    starts = np.cumsum([0, *sizes])
    shards = [np.arange(a, b, dtype=np.uint16) for a, b in itertools.pairwise(starts)]
    inputs, targets = _Tokens(shards, 65536).windows(20, length, generator(seed))
    assert torch.equal(targets, inputs + 1)
    shard = np.searchsorted(starts, inputs[:, 0].numpy(), side="right")
    assert (shard == np.searchsorted(starts, targets[:, -1].numpy(), side="right")).all()


def test_every_start_of_a_window_is_drawn() -> None:
    tokens = _Tokens([np.arange(4), np.arange(10, 15)], 256)
    inputs, _ = tokens.windows(500, 3, generator(0))
    assert sorted(set(inputs[:, 0].tolist())) == [0, 10, 11]
    every, following = tokens.every_window(3)
    assert every.tolist() == [[0, 1, 2], [10, 11, 12]]
    assert following.tolist() == [[1, 2, 3], [11, 12, 13]]
    assert len(tokens.every_window(1, most=2)[0]) == 2
    with pytest.raises(ParameterError, match="longer than a window of 4"):
        tokens.every_window(4)


def test_a_corpus_is_a_folder_or_the_stand_in(tmp_path: Path) -> None:
    write_tokens(["abc"] * 4, tmp_path, as_bytes, 256, validation_every=2)
    corpus = open_corpus(str(tmp_path))
    assert (len(corpus.train), len(corpus.validation), corpus.train.vocabulary) == (8, 8, 256)
    assert str(tmp_path) in corpus.source
    assert "standard library" in open_corpus().source


def test_the_stand_in_says_whether_it_is_the_pinned_text(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [f"{number} = {number}\n" * 40 for number in range(12)]
    monkeypatch.setattr("attention_theory.data.token_files.library_sources", lambda: documents)
    monkeypatch.setattr("attention_theory.data.token_files.LIBRARY_SHA256", text_hash(documents))
    assert open_corpus().source.endswith("the pinned text")
    monkeypatch.setattr("attention_theory.data.token_files.LIBRARY_SHA256", text_hash(documents[:1]))
    assert "ANOTHER RELEASE" in open_corpus().source


def test_windows_for_validation_are_spread_evenly() -> None:
    tokens = _Tokens([np.arange(21)], 256)
    assert tokens.every_window(2)[0][:, 0].tolist() == list(range(0, 20, 2))
    assert tokens.every_window(2, most=3)[0][:, 0].tolist() == [0, 6, 12]
    assert tokens.every_window(2, most=10)[0][:, 0].tolist() == list(range(0, 20, 2))
    assert tokens.every_window(2, most=1)[0][:, 0].tolist() == [0]
