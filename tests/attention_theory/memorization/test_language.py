import torch

from attention_theory.memorization.language import (
    CLASS_TOKEN,
    SEPARATOR,
    bundled_words,
    random_language_model,
    sample_texts,
)


def test_bundled_words_number_by_first_appearance() -> None:
    stream = bundled_words()
    assert stream[0] == 2
    assert len(stream) > 2000
    assert stream.unique().tolist() == list(range(2, int(stream.max()) + 1))


def test_bert_texts_begin_with_the_class_token() -> None:
    texts = sample_texts(torch.arange(2, 200), "bert", 10, 12, seed=0)
    assert (texts[:, 0] == CLASS_TOKEN).all()
    assert ((texts == SEPARATOR).sum(dim=1) == 1).all()
    assert texts.shape == (10, 12)


def test_queries_are_the_contexts_row() -> None:
    for kind in ("bert", "gpt2"):
        model = random_language_model(kind, 60, 8, 12, 3, seed=0)
        texts = sample_texts(torch.arange(2, 60), kind, 9, 8, seed=1)
        for depth in (0, 1):
            contexts = model.contexts(texts, depth)
            queries = model.queries(texts, depth, chunk=4)
            assert torch.allclose(queries, contexts[:, model.query_position], atol=1e-5)


def test_segments_change_after_the_separator() -> None:
    model = random_language_model("bert", 60, 8, 12, 3, seed=0)
    assert model.segments is not None
    texts = torch.tensor([[CLASS_TOKEN, 5, SEPARATOR, 6, 7]])
    expected = model.words[texts] + model.positions[:5] + model.segments[torch.tensor([0, 0, 0, 1, 1])]
    assert model.norm is not None
    assert torch.allclose(model.tokens(texts), model.norm(expected), atol=1e-6)
