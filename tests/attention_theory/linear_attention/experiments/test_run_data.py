import pytest
import torch

from attention_theory.linear_attention.experiments.run_data import RunData, _shuffled_batches


def test_the_first_runs_alone_and_all_several_times() -> None:
    three = RunData.draw(2, 3, seed=5, sequences=8, tokens=6, batch=4, passes=3)
    two, twice = three.first_runs(2), three.several(2)
    assert torch.equal(two.tasks.tokens, three.tasks.tokens[:2])
    assert torch.equal(two.tasks.power, three.tasks.power[:2])
    assert torch.equal(two.batches, three.batches[:, :2])
    assert two.seeds == three.seeds[:2]
    last = three.later_runs(2)
    assert torch.equal(last.tasks.labels, three.tasks.labels[2:])
    assert last.seeds == three.seeds[2:]
    assert len({tuple(one.flatten().tolist()) for one in three.batches.unbind(1)}) == 3
    for half in (slice(3), slice(3, 6)):
        assert torch.equal(twice.tasks.labels[half], three.tasks.labels)
        assert torch.equal(twice.tasks.teachers.values[half], three.tasks.teachers.values)
        assert torch.equal(twice.batches[:, half], three.batches)
        assert twice.seeds[half] == three.seeds


def test_curves_are_the_means_of_passes_over_the_power_of_the_labels() -> None:
    data = RunData.draw(2, 2, seed=0, sequences=6, tokens=4, batch=2, passes=3)
    history = torch.arange(14.0, dtype=torch.float64).reshape(7, 2)
    expected = torch.stack([history[:3].mean(0), history[3:6].mean(0)]) / data.tasks.power
    assert torch.equal(data.curves(history), expected)


def test_passes_and_steps() -> None:
    data = RunData.draw(2, 1, seed=0, sequences=10, tokens=4, batch=4, passes=6)
    assert data.shape == (1, 10, 4, 2)
    assert data.steps_each == 2
    assert data.batches.shape == (12, 1, 4)
    assert torch.equal(data.first_passes(2).batches, data.batches[:4])
    small = RunData.draw(2, 1, seed=0, sequences=3, tokens=4, batch=4, passes=6)
    assert small.steps_each == 1
    assert small.batches.shape == (6, 1, 4)


@pytest.mark.parametrize(("sequences", "batch", "steps"), [(12, 4, 9), (5, 3, 5), (8, 32, 3)])
def test_every_pass_sees_every_sequence_once_in_an_order_of_its_own(sequences: int, batch: int, steps: int) -> None:
    """Also where a batch does not divide the data, and runs on into the next pass, or is all of them several times."""
    batches = _shuffled_batches(sequences, batch, steps, seed=1)
    assert batches.shape == (steps, batch)
    whole = steps * batch // sequences
    passes = batches.flatten()[: whole * sequences].unflatten(0, (whole, sequences))
    assert torch.equal(passes.sort(dim=1).values, torch.arange(sequences).expand(whole, sequences))
    assert len({tuple(one.tolist()) for one in passes}) == whole
