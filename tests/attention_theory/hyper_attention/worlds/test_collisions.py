import pytest
import torch

from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions
from attention_theory.hyper_attention.worlds.collisions import simulate, window_matrix
from attention_theory.randomness import generator


@pytest.mark.parametrize(("grid", "radius", "agents"), [(10, 1, 4), (12, 2, 6), (7, 0, 5)])
def test_the_window_counts_those_who_touch(grid: int, radius: int, agents: int) -> None:
    draw = generator(grid)
    starts = torch.randint(grid, (40, agents, 2), generator=draw)
    _, touched = simulate(starts, grid, radius)
    minus_one = -torch.ones(grid, 1, dtype=torch.float64)
    values = aggregate_interactions(starts[..., 1], window_matrix(grid, radius), minus_one, self_term=False)
    assert torch.equal(touched.sum(dim=-1).double(), -values.squeeze(-1))


def test_everybody_ends_at_the_wall() -> None:
    paths, _ = simulate(torch.tensor([[[0, 3], [4, 1]]]), 6, 1)
    assert paths[-1, 0, :, 0].tolist() == [5, 5]
    assert torch.equal(paths[..., 1], paths[:1, ..., 1].expand(7, 1, 2))


def test_touching_is_at_two_radii_and_not_beyond() -> None:
    starts = torch.tensor([[[0, 0], [0, 2]], [[0, 0], [0, 3]], [[0, 0], [3, 2]]])
    met = simulate(starts, 7, 1)[1][:, 0, 1].tolist()
    assert met == [True, False, True]  # the third pair is brought together by the wall
