"""Look-ups in either order of summing, and of models on several sets of sentences at once."""

import pytest
import torch

from attention_theory.in_context_reasoning._places import Places, _sorted
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.randomness import normal

SIZE, LENGTH, COUNT = 11, 12, 7
TOKENS = sample_sentences(Task(SIZE, 2, 3, LENGTH, noisy=True, fillers="outputs allowed"), COUNT, seed=1).tokens


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_ways_to_write_agree_to_the_last_digit(dtype: torch.dtype) -> None:
    values = (100 * normal(3, COUNT, LENGTH, seed=8).exp()).to(dtype)
    assert torch.equal(Places(TOKENS, SIZE, True).write(values), Places(TOKENS, SIZE, False).write(values))


@pytest.mark.parametrize("largest", [2**15 - 1, 2**15])
def test_words_are_sorted_by_their_numbers_however_large(largest: int) -> None:
    assert _sorted(torch.tensor([[largest, 1, 0, 1]])).tolist() == [[2, 1, 3, 0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize(("sets", "each"), [(3, 1), (2, 6), (1, 6)])
def test_models_on_several_sets_of_sentences_are_the_models_alone(
    sets: int, each: int, in_order: bool, dtype: torch.dtype
) -> None:
    """One model, or as many as stand beside each other in memory, on each set."""
    task, models = Task(SIZE, 2, 3, LENGTH, noisy=True), sets * each
    tokens = torch.stack([sample_sentences(task, COUNT, seed).tokens for seed in range(sets)])
    together = Places(tokens if sets > 1 else tokens[0], SIZE, in_order)
    assert len(together) == COUNT
    lookup, values = (normal(models, COUNT, size, seed=2).to(dtype) for size in (2 * SIZE, LENGTH))
    matrix, features = (normal(models, size, 5, seed=4).to(dtype) for size in (2 * SIZE, COUNT))
    for model in range(models):
        alone = Places(tokens[model % sets], SIZE, in_order)
        for name, given in (("read", lookup), ("write", values), ("at_last", matrix)):
            found, expected = together.by_set(getattr(together, name)(given)), getattr(alone, name)(given[model])
            assert (found[model] - expected).abs().max() < (1e-12 if dtype == torch.float64 else 1e-5), name
        assert (together.by_last(features)[model] - alone.by_last(features[model])).abs().max() < 1e-5
