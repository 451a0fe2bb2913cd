import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attention_theory.hyper_attention.layers.hyper_feature_attention import linear_hyper_feature_attention
from attention_theory.hyper_attention.worlds.coupled_features import coupled_interaction, embed_features, layer_of
from attention_theory.hyper_attention.worlds.predator_prey import (
    POLICY,
    RIGHT,
    UP,
    Edges,
    X,
    Y,
    feature_sizes,
    meetings,
    sample_worlds,
    simulated_values,
    turn_over,
    value_heads,
)


def entity(species: int, policy: int, x: int, y: int, size: int = 9) -> list[int]:
    return [species, policy, x, y, (x - y) % size]


def play(world: Tensor, size: int, loops: tuple[bool, bool]) -> set[tuple[int, int]]:
    """Walk entity by entity, y downwards, and collect the pairs that are ever in one cell."""
    cells = [(x, y) for _, _, x, y, _ in world.tolist()]
    met = set()
    for _ in range(4 * size):
        met |= {(i, j) for i, a in enumerate(cells) for j, b in enumerate(cells) if a == b}
        for i, (x, y) in enumerate(cells):
            if world[i, POLICY] == RIGHT:
                cells[i] = ((x + 1) % size if loops[0] else min(x + 1, size - 1), y)
            else:
                cells[i] = (x, (y - 1) % size if loops[1] else max(y - 1, 0))
    return met


@pytest.mark.parametrize(
    ("edges", "loops"), [("torus", (True, True)), ("cylinder", (False, True)), ("walls", (False, False))]
)
def test_the_batched_play_is_the_walk_of_every_entity(edges: Edges, loops: tuple[bool, bool]) -> None:
    for world in sample_worlds(10, 6, 5, 1):
        met = meetings(world, 5, edges)
        assert {(i, j) for i in range(6) for j in range(6) if met[i, j]} == play(world, 5, loops)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 8), st.integers(0, 10_000))
def test_the_heads_and_the_layer_are_the_play(size: int, seed: int) -> None:
    worlds = sample_worlds(3, 6, size, seed)
    expected = simulated_values(worlds, size, "torus")
    heads = value_heads(size)
    assert torch.equal(coupled_interaction(worlds, heads), expected)
    tokens = embed_features(worlds, feature_sizes(size))
    layers = [linear_hyper_feature_attention(tokens, *layer_of(head, feature_sizes(size))) for head in heads]
    torch.testing.assert_close(torch.stack(layers).sum(0)[..., 0], expected, rtol=0, atol=1e-12)
    assert torch.equal(coupled_interaction(worlds, value_heads(size, "printed")), simulated_values(worlds, size))


def test_a_world_turned_over_is_played_with_y_up() -> None:
    size = 5
    world = sample_worlds(1, 8, size, 2)[0]
    turned = turn_over(world, size)
    assert torch.equal(turn_over(turned, size), world)
    met = meetings(turned, size, "torus")
    crossing = (world[:, None, POLICY] == RIGHT) & (world[None, :, POLICY] == UP)
    rising = (world[:, X] + world[:, Y]) % size
    assert torch.equal(met & crossing, (rising[:, None] == rising) & crossing)
