"""Look-ups against the 0/1 matrix of all codes, written out."""

import pytest
import torch
from torch import Tensor

from attention_theory.in_context_reasoning._places import Places, _sorted
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.randomness import normal

SIZE, LENGTH, COUNT = 11, 12, 7
TOKENS = sample_sentences(Task(SIZE, 2, 3, LENGTH, noisy=True, fillers="outputs allowed"), COUNT, seed=1).tokens


def codes_of(tokens: Tensor) -> Tensor:
    """Every ``x_h`` as a row of zeros with its two ones; the first word of a sentence has one."""
    codes = torch.zeros(*tokens.shape, 2 * SIZE, dtype=torch.float64)
    for sentence, words in enumerate(tokens.tolist()):
        for place, word in enumerate(words):
            codes[sentence, place, word] = 1
            if place:
                codes[sentence, place, SIZE + words[place - 1]] = 1
    return codes


@pytest.mark.parametrize("models", [(), (3,), (2, 3)])
@pytest.mark.parametrize("in_order", [False, True])
def test_sums_are_products_with_the_codes(models: tuple[int, ...], in_order: bool) -> None:
    places, codes = Places(TOKENS, SIZE, in_order), codes_of(TOKENS)
    assert len(places) == COUNT
    lookup = normal(*models, COUNT, 2 * SIZE, seed=2)
    assert (places.read(lookup) - torch.einsum("shc,...sc->...sh", codes, lookup)).abs().max() < 1e-14
    values = normal(*models, COUNT, LENGTH, seed=3)
    assert (places.write(values) - torch.einsum("shc,...sh->...sc", codes, values)).abs().max() < 1e-14
    matrix = normal(*models, 2 * SIZE, 5, seed=4)
    assert (places.at_last(matrix) - codes[:, -1] @ matrix).abs().max() < 1e-14
    features = normal(*models, COUNT, 5, seed=5)
    assert (places.by_last(features) - codes[:, -1].T @ features).abs().max() < 1e-14


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_ways_to_write_agree_to_the_last_digit(dtype: torch.dtype) -> None:
    values = (100 * normal(3, COUNT, LENGTH, seed=8).exp()).to(dtype)
    assert torch.equal(Places(TOKENS, SIZE, True).write(values), Places(TOKENS, SIZE, False).write(values))


@pytest.mark.parametrize("in_order", [False, True])
def test_models_may_have_sentences_of_their_own(in_order: bool) -> None:
    task = Task(SIZE, 2, 3, LENGTH, noisy=True)
    tokens = torch.stack([sample_sentences(task, COUNT, seed).tokens for seed in range(3)])
    places = Places(tokens, SIZE, in_order)
    lookup, values = normal(3, COUNT, 2 * SIZE, seed=2), normal(3, COUNT, LENGTH, seed=3)
    matrix, features = normal(3, 2 * SIZE, 5, seed=4), normal(3, COUNT, 5, seed=5)
    assert len(places) == COUNT
    for model, sentences in enumerate(tokens):
        alone = Places(sentences, SIZE)
        assert torch.equal(places.by_set(places.read(lookup))[model], alone.read(lookup[model]))
        assert torch.equal(places.by_set(places.write(values))[model], alone.write(values[model]))
        assert torch.equal(places.by_set(places.at_last(matrix))[model], alone.at_last(matrix[model]))
        assert torch.equal(places.by_last(features)[model], alone.by_last(features[model]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_models_abreast_on_several_sets_are_the_models_alone(dtype: torch.dtype) -> None:
    """As many as stand beside each other in memory, six on each of two sets."""
    task = Task(SIZE, 2, 3, LENGTH, noisy=True)
    tokens = torch.stack([sample_sentences(task, COUNT, seed).tokens for seed in range(2)])
    for together, models in ((Places(tokens, SIZE), 12), (Places(tokens[0], SIZE), 6)):
        sets = models // 6
        lookup, values = (normal(models, COUNT, size, seed=2).to(dtype) for size in (2 * SIZE, LENGTH))
        matrix, features = (normal(models, size, 5, seed=4).to(dtype) for size in (2 * SIZE, COUNT))
        for model in range(models):
            alone = Places(tokens[model % sets], SIZE)
            for name, given in (("read", lookup), ("write", values), ("at_last", matrix)):
                found, expected = together.by_set(getattr(together, name)(given)), getattr(alone, name)(given[model])
                assert (found[model] - expected).abs().max() < 1e-5, name
            assert (together.by_last(features)[model] - alone.by_last(features[model])).abs().max() < 1e-5


@pytest.mark.parametrize("largest", [2**15 - 1, 2**15])
def test_words_are_sorted_by_their_numbers_however_large(largest: int) -> None:
    assert _sorted(torch.tensor([[largest, 1, 0, 1]])).tolist() == [[2, 1, 3, 0]]
