import torch

from attention_theory.linear_attention.experiments.mini_batches import shuffled_batches
from attention_theory.linear_attention.experiments.run_data import draw_runs


def test_fewer_runs_are_the_first_ones() -> None:
    two, three = (draw_runs(2, runs, seed=5, sequences=8, tokens=6, batch=4, passes=3) for runs in (2, 3))
    assert torch.equal(two.tasks.tokens, three.tasks.tokens[:2])
    assert torch.equal(two.tasks.teachers.queries, three.tasks.teachers.queries[:2])
    assert torch.equal(two.batches, three.batches[:, :2])
    assert two.seeds == three.seeds[:2]
    assert len({tuple(one.flatten().tolist()) for one in three.batches.unbind(1)}) == 3


def test_the_first_runs_alone_and_all_several_times() -> None:
    three = draw_runs(2, 3, seed=5, sequences=8, tokens=6, batch=4, passes=3)
    two, twice = three.first_runs(2), three.several(2)
    assert torch.equal(two.tasks.tokens, three.tasks.tokens[:2])
    assert torch.equal(two.tasks.power, three.tasks.power[:2])
    assert torch.equal(two.batches, three.batches[:, :2])
    assert two.seeds == three.seeds[:2]
    for half in (slice(3), slice(3, 6)):
        assert torch.equal(twice.tasks.labels[half], three.tasks.labels)
        assert torch.equal(twice.tasks.teachers.values[half], three.tasks.teachers.values)
        assert torch.equal(twice.batches[:, half], three.batches)
        assert twice.seeds[half] == three.seeds


def test_passes_and_steps() -> None:
    data = draw_runs(2, 1, seed=0, sequences=10, tokens=4, batch=4, passes=6)
    assert data.shape == (1, 10, 4, 2)
    assert data.steps_each == 2
    assert data.batches.shape == (12, 1, 4)
    assert torch.equal(data.first_passes(2).batches, data.batches[:4])
    small = draw_runs(2, 1, seed=0, sequences=3, tokens=4, batch=4, passes=6)
    assert small.steps_each == 1
    assert small.batches.shape == (6, 1, 4)


def test_no_two_things_are_drawn_from_one_stream() -> None:
    data = draw_runs(2, 2, seed=0, sequences=8, tokens=4, batch=4, passes=2)
    assert not any(torch.equal(data.batches[:, run], shuffled_batches(8, 4, 4, data.seeds[run])) for run in range(2))
    assert len(set(data.seeds)) == 2
