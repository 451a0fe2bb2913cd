"""Hunters and prey on a grid (Appendix F.1): the world, simulated, and the HyperFeatureAttention that is its value.

Entities have a species (hunter H or prey P), a policy (R moves right, U moves up) and a cell (x, y), where y points
down. A hunter gains 1 for every prey that it ever meets, and the prey loses 1. Entities that move alike meet only where
a wall stops the one in front, while the paper's condition for the others is right where the grid is looped.
"""

from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.hyper_attention.worlds.coupled_features import CoupledHead, Factor, Weight
from attention_theory.randomness import Seed, generator
from attention_theory.validation import FORMS, Form, require

#: The columns of an entity. The diagonal ``x - y`` modulo the size is no new knowledge, but a separate one-hot, without
#: which a condition on both coordinates is not bilinear in the embedding.
SPECIES, POLICY, X, Y, DIAGONAL = range(5)
HUNTER, PREY = 0, 1
RIGHT, UP = 0, 1

Edges = Literal["torus", "cylinder", "walls", "by pair"]


def feature_sizes(size: int) -> list[int]:
    """The number of values of species, policy, x, y and the diagonal (Appendix F.1).

    Raises:
        ParameterError: no cell.
    """
    require(size=(size, 1, None))
    return [2, 2, size, size, size]


def sample_worlds(worlds: int, entities: int, size: int, seed: Seed) -> Int[Tensor, "worlds entities features"]:
    """Uniform species, policies and cells on a grid of ``size`` by ``size`` (App. F.1).

    Raises:
        ParameterError: no world, entity or cell.
    """
    require(worlds=(worlds, 1, None), entities=(entities, 1, None), size=(size, 1, None))
    draw = generator(seed)
    kinds = torch.randint(2, (worlds, entities, 2), generator=draw)
    x, y = torch.randint(size, (2, worlds, entities), generator=draw)
    return torch.cat([kinds, torch.stack([x, y, (x - y) % size], dim=-1)], dim=-1)


def turn_over(entities: Int[Tensor, "... entities features"], size: int) -> Int[Tensor, "... entities features"]:
    """The same world turned upside down: row ``y`` becomes ``size - 1 - y``.

    Appendix F.1 does not say where "up" is. An entity that moves up in the result has a rising ``y`` in the world
    given.
    """
    turned = entities.clone()
    turned[..., Y] = size - 1 - turned[..., Y]
    turned[..., DIAGONAL] = (turned[..., X] - turned[..., Y]) % size
    return turned


def meetings(
    entities: Int[Tensor, "... entities features"], size: int, edges: Edges = "by pair"
) -> Bool[Tensor, "... entities entities"]:
    """Play the world of Appendix F.1 step by step: which pairs are ever in one cell at one time.

    Args:
        edges: how the grid ends: looped both ways; looped in y, with a wall at the right; with walls; or, "by pair",
            with walls for pairs of one policy and looped for the others, as the paper's formulas have it.

    Raises:
        ParameterError: ``edges`` is none of the four.
    """
    require(edges=(edges, get_args(Edges)))
    right = (entities[..., POLICY] == RIGHT).to(torch.int64)
    if edges == "by pair":
        alike = right[..., :, None] == right[..., None, :]
        return torch.where(alike, meetings(entities, size, "walls"), meetings(entities, size, "torus"))
    met = entities.new_zeros(*entities.shape[:-1], entities.shape[-2], dtype=torch.bool)
    for step in range(2 * size):
        x, y = entities[..., X] + step * right, entities[..., Y] - step * (1 - right)
        x = x % size if edges == "torus" else x.clamp(max=size - 1)
        y = y.clamp(min=0) if edges == "walls" else y % size
        met |= (x[..., :, None] == x[..., None, :]) & (y[..., :, None] == y[..., None, :])
    return met


def simulated_values(
    entities: Int[Tensor, "... entities features"], size: int, edges: Edges = "by pair"
) -> Float[Tensor, "... entities"]:
    """The gains and losses of each entity in the play: a hunter +1 for every prey it meets, a prey -1 for every hunter.

    This is the value function of Appendix F.1.

    Raises:
        ParameterError: as :func:`meetings`.
    """
    species = entities[..., SPECIES]
    hunts = meetings(entities, size, edges) & (species[..., :, None] != species[..., None, :])
    gain = torch.where(species == PREY, 1.0, -1.0).to(torch.float64)
    return (hunts * gain[..., None, :]).sum(dim=-1)


def value_heads(size: int, form: Form = "correct") -> list[CoupledHead]:
    """The value function on a torus as heads of Eq. 36.

    An entity that moves right meets one that moves up where ``x_i + t = x_j`` and ``y_i = y_j - t`` modulo the size:
    on one diagonal, ``x_i - x_j = y_i - y_j``, whichever of the two is ``i``. Two of one policy meet in one cell only.

    ``form="printed"`` has equal rows or equal columns for pairs of one policy, which is right where walls stop them.
    The paper has an approximate sign, which it does not explain; it is read as equality modulo the size.

    Raises:
        ParameterError: no cell or an unknown form.
    """
    require(form=(form, FORMS), size=(size, 1, None))
    opponents = Factor(SPECIES, SPECIES, 1.0 - torch.eye(2, dtype=torch.float64))
    weight = Weight(SPECIES, torch.tensor([-1.0, 1.0], dtype=torch.float64))
    row, column, diagonal = (Factor(one, one, torch.eye(size, dtype=torch.float64)) for one in (Y, X, DIAGONAL))

    def head(pairs: list[tuple[int, int]], *where: Factor) -> CoupledHead:
        table = torch.zeros(2, 2, dtype=torch.float64)
        for pair in pairs:
            table[pair] = 1.0
        return CoupledHead([opponents, Factor(POLICY, POLICY, table), *where], [weight] * 3)

    crossing = head([(RIGHT, UP), (UP, RIGHT)], diagonal)
    same_cell = form == "correct"
    both_right = head([(RIGHT, RIGHT)], row, *([column] if same_cell else []))
    both_up = head([(UP, UP)], column, *([row] if same_cell else []))
    return [crossing, both_right, both_up]


def diagonal_residual(size: int) -> float:
    """Measure how far ``I{x_i - x_j = y_i - y_j}``, modulo the size, is from bilinear in one-hots of x and y side by
    side.

    The squared size of what the best bilinear form misses, as a fraction of the whole. It is not 0, so the diagonal
    needs a separate one-hot, which Appendix F.1 does not give it.

    Raises:
        ParameterError: no cell.
    """
    require(size=(size, 1, None))
    cells = torch.cartesian_prod(torch.arange(size), torch.arange(size))
    diagonal = (cells[:, 0] - cells[:, 1]) % size
    table = (diagonal[:, None] == diagonal).to(torch.float64)
    unit = torch.eye(size, dtype=torch.float64)
    embedding = torch.cat([unit[cells[:, 0]], unit[cells[:, 1]]], dim=1)
    onto = embedding @ torch.linalg.pinv(embedding)
    return ((table - onto @ table @ onto).square().sum() / table.square().sum()).item()
