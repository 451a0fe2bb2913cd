import pytest
import torch

from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions
from attention_theory.hyper_attention.worlds.collisions import circular_distance, simulate, window_matrix
from attention_theory.randomness import generator


def test_the_loop_is_short_both_ways() -> None:
    assert circular_distance(torch.tensor([1, 0, 5]), torch.tensor([19, 10, 5]), 20).tolist() == [2, 10, 0]


@pytest.mark.parametrize(("grid", "radius", "agents"), [(10, 1, 4), (12, 2, 6), (7, 0, 5)])
def test_the_window_counts_those_who_touch(grid: int, radius: int, agents: int) -> None:
    draw = generator(grid)
    starts = torch.randint(grid, (40, agents, 2), generator=draw)
    run = simulate(starts, grid, radius)
    minus_one = -torch.ones(grid, 1, dtype=torch.float64)
    values = aggregate_interactions(starts[..., 1], window_matrix(grid, radius), minus_one, self_term=False)
    assert torch.equal(run.touched.sum(dim=-1).double(), -values.squeeze(-1))


def test_everybody_ends_at_the_wall() -> None:
    run = simulate(torch.tensor([[[0, 3], [4, 1]]]), 6, 1)
    assert run.paths[-1, 0, :, 0].tolist() == [5, 5]
    assert torch.equal(run.paths[..., 1], run.paths[:1, ..., 1].expand(7, 1, 2))


def test_touching_is_at_two_radii_and_not_beyond() -> None:
    starts = torch.tensor([[[0, 0], [0, 2]], [[0, 0], [0, 3]], [[0, 0], [3, 2]]])
    met = simulate(starts, 7, 1).touched[:, 0, 1].tolist()
    assert met == [True, False, True]  # the third pair is brought together by the wall
