import pytest
import torch

from attention_theory.linear_attention.experiments.teacher_task import Tasks


def test_the_two_readings_differ_by_their_scales() -> None:
    small, large = (Tasks.draw(2, 3, 16, [0], scale) for scale in ("deviation", "variance"))
    ratio = (large.labels / small.labels).flatten()
    assert torch.allclose(ratio, torch.full_like(ratio, 2**0.5 * 16**0.75))


def test_stacked_tasks_are_single_tasks_side_by_side() -> None:
    tasks = Tasks.draw(3, 4, 6, [2, 5])
    for run, seed in enumerate([2, 5]):
        alone = Tasks.draw(3, 4, 6, [seed])
        assert torch.equal(alone.tokens[0], tasks.tokens[run])
        assert torch.equal(alone.labels[0], tasks.labels[run])
        assert torch.equal(alone.teachers.values[0], tasks.teachers.values[run])
        assert tasks.power[run].item() == pytest.approx(alone.labels.square().mean().item())
    assert torch.equal(tasks.part(1, 3).tokens, tasks.tokens[:, 1:3])
    assert torch.equal(tasks.part(3).labels, tasks.labels[:, 3:])
    assert tasks.to(torch.float32).labels.dtype == tasks.to(torch.float32).teachers.values.dtype == torch.float32
