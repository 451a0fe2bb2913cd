from dataclasses import replace
from typing import Literal

import pytest
import torch

from attention_theory.memorization.language import (
    _CLASS_TOKEN,
    _SEPARATOR,
    WordNumbers,
    random_language_model,
    sample_texts,
)
from attention_theory.memorization.transformer import cast

COUNTED = " ".join(f"w{number}" for number in range(6000))


def number_of(text: str) -> list[int]:
    return [int(word[1:]) + 2 for word in text.split() if len(word) > 1 and word[0] == "w"]


def test_words_are_numbered_by_first_appearance() -> None:
    encode = WordNumbers()
    assert encode("The cat, the Dog") == [2, 3, 4, 2, 5]
    assert encode("dog!") == [5, 6]
    assert encode.count == 7


def test_pieces_are_runs_of_the_text() -> None:
    texts = sample_texts(COUNTED, "gpt2", 20, 30, number_of, seed=0)
    assert (texts.diff(dim=1) == 1).all()
    assert len(texts[:, 0].unique()) == 20
    assert (texts[:, 0].sort().values.diff() >= 30).all()


def test_bert_texts_begin_with_the_class_token() -> None:
    texts = sample_texts(COUNTED, "bert", 40, 12, number_of, seed=0)
    assert (texts[:, 0] == _CLASS_TOKEN).all()
    assert ((texts == _SEPARATOR).sum(dim=1) == 1).all()
    assert texts.shape == (40, 12)
    follows = texts[:, 7] == texts[:, 5] + 1
    assert 8 < follows.sum() < 32
    other = sample_texts(COUNTED, "bert", 3, 12, number_of, seed=0, special=(101, 102))
    assert (other[:, 0] == 101).all()


def test_queries_are_the_contexts_row() -> None:
    for kind in ("bert", "gpt2"):
        model = random_language_model(kind, 6002, 8, 12, 3, seed=0)
        texts = sample_texts(COUNTED, kind, 9, 8, number_of, seed=1)
        for depth in (0, 1):
            contexts = model.contexts(texts, depth)
            queries = model.queries(texts, depth, chunk=4)
            assert torch.allclose(queries, contexts[:, model.query_position], atol=1e-5)


@pytest.mark.parametrize(("sentences", "rows"), [(1, [0, 0, 0, 0, 0]), (2, [0, 0, 0, 1, 1])])
def test_segments_where_there_are_two(sentences: Literal[1, 2], rows: list[int]) -> None:
    model = replace(random_language_model("bert", 60, 8, 12, 3, seed=0), sentences=sentences)
    assert model.segments is not None
    texts = torch.tensor([[_CLASS_TOKEN, 5, _SEPARATOR, 6, 7]])
    expected = model.words[texts] + model.positions[:5] + model.segments[torch.tensor(rows)]
    assert model.norm is not None
    assert torch.allclose(model.tokens(texts), model.norm(expected), atol=1e-6)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_contexts_are_independent_by_their_positions(kind: Literal["bert", "gpt2"]) -> None:
    model = cast(random_language_model(kind, 6002, 8, 12, 3, seed=0), torch.float64)
    texts = torch.full((9, 8), 5)
    assert model.independent_contexts(texts, 0).all()
    assert model.independent_contexts(texts, 1).shape == (9,)
    alike = replace(model, positions=model.positions[:1].expand(8, -1))
    assert not alike.independent_contexts(texts, 0).any()
    assert not alike.independent_contexts(texts[:, :4], 1).any()
