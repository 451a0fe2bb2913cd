import torch

from attention_theory.hyper_attention.worlds.grids import distance_effect, labelled_effect, shift_invariant_effect


def test_a_kernel_is_read_at_wrapped_differences() -> None:
    grid = 4
    kernel = torch.arange(16, dtype=torch.float64).reshape(grid, grid)
    effect = shift_invariant_effect(kernel).reshape(grid, grid, grid, grid)
    assert effect[1, 3, 2, 0] == kernel[3, 3]
    assert effect[2, 2, 2, 2] == kernel[0, 0]


def test_collisions_from_afar_cost_ten() -> None:
    grid = 6
    effect = distance_effect(grid, radius=1, far=2).reshape(grid, grid, grid, grid)
    assert effect[0, 0, 0, 1] == 1
    assert effect[0, 0, 3, 1] == 10
    assert effect[0, 0, 0, 5] == 1
    assert effect[0, 0, 0, 3] == 0
    printed = distance_effect(grid, radius=1, far=2, form="printed").reshape(grid, grid, grid, grid)
    assert printed[0, 0, 0, 1] == 10
    assert printed[0, 0, 0, 5] == 0


def test_labelled_agents_meet_as_the_congruences_say() -> None:
    grid = 4
    effect = labelled_effect(grid).reshape(2, grid, grid, 2, grid, grid)
    for x in range(grid):
        for y in range(grid):
            assert effect[0, 0, 0, 0, x, y] == (x == 0 and y == 0)
            # right from the origin and up from (x, y): they meet when t = x and y + t = 0
            assert effect[0, 0, 0, 1, x, y] == ((x + y) % grid == 0)
    torch.testing.assert_close(effect.reshape(32, 32), effect.reshape(32, 32).mT)


def test_far_across_depends_on_whether_that_coordinate_loops() -> None:
    looped, straight = (distance_effect(6, 0, 3, looped_x=x).reshape(6, 6, 6, 6)[0, 0, :, 0] for x in (True, False))
    assert looped.tolist() == [1, 1, 1, 10, 1, 1]
    assert straight.tolist() == [1, 1, 1, 10, 10, 10]
