import pytest
import torch

from attention_theory.linear_attention.experiments.mini_batches import batches_of_runs, shuffled_batches
from attention_theory.validation import ParameterError


def test_every_pass_sees_every_sequence_once_in_an_order_of_its_own() -> None:
    batches = shuffled_batches(12, 4, 9, seed=0)
    passes = batches.flatten().unflatten(0, (3, 12))
    assert torch.equal(passes.sort(dim=1).values, torch.arange(12).expand(3, 12))
    assert len({tuple(one.tolist()) for one in passes}) == 3


def test_a_batch_that_does_not_divide_the_data_runs_on_into_the_next_pass() -> None:
    batches = shuffled_batches(5, 3, 5, seed=1)
    assert batches.shape == (5, 3)
    assert sorted(batches.flatten()[:5].tolist()) == sorted(batches.flatten()[5:10].tolist()) == list(range(5))


def test_a_batch_larger_than_the_data_is_all_of_it_several_times() -> None:
    for step in shuffled_batches(8, 32, 3, seed=0):
        assert torch.equal(step.bincount(), torch.full((8,), 4))


def test_runs_have_batches_of_their_own() -> None:
    batches = batches_of_runs(8, 4, 6, [1, 2])
    assert batches.shape == (6, 2, 4)
    assert torch.equal(batches[:, 1], shuffled_batches(8, 4, 6, 2))
    assert not torch.equal(batches[:, 0], batches[:, 1])


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="seeds"):
        batches_of_runs(4, 4, 6, [])
