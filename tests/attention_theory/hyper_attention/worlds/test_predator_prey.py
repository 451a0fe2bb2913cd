import itertools

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.hyper_attention.layers.hyper_feature_attention import linear_hyper_feature_attention
from attention_theory.hyper_attention.worlds.coupled_features import (
    block_parameters,
    coupled_interaction,
    embed_features,
    layer_of,
)
from attention_theory.hyper_attention.worlds.predator_prey import (
    FALLING,
    HUNTER,
    POLICY,
    PREY,
    RIGHT,
    RISING,
    UP,
    X,
    Y,
    crossing_condition,
    diagonal_residual,
    feature_sizes,
    meetings,
    sample_worlds,
    simulated_values,
    turn_over,
    value_heads,
)


def entity(species: int, policy: int, x: int, y: int, size: int = 9) -> list[int]:
    return [species, policy, x, y, x + y, x - y + size - 1]


def test_a_hunter_catches_the_prey_that_crosses_its_way_in_time() -> None:
    hunter = entity(HUNTER, RIGHT, 1, 5)
    caught = entity(PREY, UP, 4, 2)
    too_early = entity(PREY, UP, 0, 6)
    world = torch.tensor([hunter, caught, too_early])
    assert simulated_values(world, 9).tolist() == [1.0, -1.0, 0.0]


def test_the_wall_brings_those_together_who_move_alike() -> None:
    world = torch.tensor([entity(HUNTER, RIGHT, 1, 5), entity(PREY, RIGHT, 7, 5), entity(PREY, RIGHT, 7, 4)])
    met = meetings(world, 9)
    assert met[0, 1]
    assert not met[0, 2]


def test_one_at_the_wall_is_run_into_only_where_there_are_walls() -> None:
    at_the_top, passing = entity(HUNTER, UP, 5, 8), entity(PREY, RIGHT, 3, 8)
    world = torch.tensor([at_the_top, passing])
    assert meetings(world, 9, "everywhere")[0, 1]
    assert not meetings(world, 9, "nowhere")[0, 1]
    assert not meetings(world, 9)[0, 1]


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 8), st.integers(0, 10_000))
def test_the_formula_and_the_layer_are_the_play(size: int, seed: int) -> None:
    worlds = sample_worlds(3, 6, size, seed)
    expected = simulated_values(worlds, size)
    heads = value_heads(size)
    assert torch.equal(coupled_interaction(worlds, heads), expected)
    tokens = embed_features(worlds, feature_sizes(size))
    layers = [linear_hyper_feature_attention(tokens, *layer_of(head, feature_sizes(size))) for head in heads]
    torch.testing.assert_close(torch.stack(layers).sum(0)[..., 0], expected, rtol=0, atol=1e-12)
    differ = worlds[..., :, None, POLICY] != worlds[..., None, :, POLICY]
    assert torch.equal(crossing_condition(worlds), meetings(worlds, size) & differ)


def test_the_printed_condition_is_another() -> None:
    worlds = sample_worlds(20, 8, 6, 0)
    assert not torch.equal(crossing_condition(worlds, "printed"), crossing_condition(worlds))
    assert not torch.equal(coupled_interaction(worlds, value_heads(6, "printed")), simulated_values(worlds, 6))


def test_a_world_turned_over_is_played_with_y_down() -> None:
    size = 5
    world = sample_worlds(1, 8, size, 2)[0]
    turned = turn_over(world, size)
    assert torch.equal(turned[:, RISING], turned[:, X] + turned[:, Y])
    assert torch.equal(turned[:, FALLING], turned[:, X] - turned[:, Y] + size - 1)
    assert torch.equal(turn_over(turned, size), world)
    met = meetings(turned, size)
    for i, j in itertools.product(range(8), repeat=2):
        if world[i, POLICY] == RIGHT and world[j, POLICY] == UP:
            times = range(2 * size)
            cells = [(world[i, X] + t == world[j, X]) and (world[i, Y] == world[j, Y] - t) for t in times]
            assert met[i, j] == any(cells)


def test_parameters() -> None:
    size = 5
    assert block_parameters(value_heads(size)) == 32 + 2 * (2 * size - 1) ** 2 + 4 * size**2
    assert block_parameters(value_heads(size, "printed")) == 24 + (2 * size - 1) ** 2 + 2 * size**2


def test_the_diagonal_is_not_bilinear_but_on_one_cell() -> None:
    assert diagonal_residual(1) < 1e-12
    assert diagonal_residual(3) > 0.5


def test_the_smallest_world_and_the_range_of_every_feature() -> None:
    assert feature_sizes(1) == [2, 2, 1, 1, 1, 1]
    assert sample_worlds(1, 1, 1, 0)[0, 0, 2:].tolist() == [0, 0, 0, 0]
    assert len(value_heads(1)) == 4
    drawn = sample_worlds(300, 4, 3, 0).flatten(0, 1)
    for feature, size in enumerate(feature_sizes(3)):
        assert set(drawn[:, feature].tolist()) == set(range(size))
    assert torch.equal(drawn[:, RISING], drawn[:, X] + drawn[:, Y])
    assert torch.equal(drawn[:, FALLING], drawn[:, X] - drawn[:, Y] + 2)
