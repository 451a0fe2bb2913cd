"""Hunters and prey on a grid (Appendix F.1): the world, simulated, and the HyperFeatureAttention that is its value.

Entities have a species (hunter H or prey P), a policy (R moves right, U moves up) and a cell (x, y), y upwards. A
hunter gains 1 for every prey that it ever meets, and the prey loses 1. Entities that move alike meet only because a
wall stops the one in front, so such pairs are played with walls; the formulas for the others know no walls, and neither
does their play.
"""

from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.hyper_attention.worlds.coupled_features import CoupledHead, Factor, Weight
from attention_theory.randomness import Seed, generator
from attention_theory.validation import FORMS, Form, require

#: The columns of an entity. The diagonals are no new knowledge, but a separate one-hot, without which
#: a condition on both coordinates is not bilinear in the embedding.
SPECIES, POLICY, X, Y, RISING, FALLING = range(6)
HUNTER, PREY = 0, 1
RIGHT, UP = 0, 1

Walls = Literal["for one policy", "everywhere", "nowhere"]


def feature_sizes(size: int) -> list[int]:
    """The number of values of species, policy, x, y, ``x + y`` and ``x - y`` (Appendix F.1).

    Raises:
        ParameterError: no cell.
    """
    require(size=(size, 1, None))
    return [2, 2, size, size, 2 * size - 1, 2 * size - 1]


def sample_worlds(worlds: int, entities: int, size: int, seed: Seed) -> Int[Tensor, "worlds entities features"]:
    """Uniform species, policies and cells on a grid of ``size`` by ``size`` (App. F.1); ``x - y`` is kept from 0 up.

    Raises:
        ParameterError: no world, entity or cell.
    """
    require(worlds=(worlds, 1, None), entities=(entities, 1, None), size=(size, 1, None))
    draw = generator(seed)
    kinds = torch.randint(2, (worlds, entities, 2), generator=draw)
    x, y = torch.randint(size, (2, worlds, entities), generator=draw)
    return torch.cat([kinds, torch.stack([x, y, x + y, x - y + size - 1], dim=-1)], dim=-1)


def turn_over(entities: Int[Tensor, "... entities features"], size: int) -> Int[Tensor, "... entities features"]:
    """The same world with y pointing down: row ``y`` becomes ``size - 1 - y``, and the two diagonals change places.

    Appendix F.1 does not say where "up" is.

    An entity that moves up in the result has a falling ``y`` in the world given.
    """
    turned = entities[..., [SPECIES, POLICY, X, Y, FALLING, RISING]]
    turned[..., Y] = size - 1 - turned[..., Y]
    return turned


def meetings(
    entities: Int[Tensor, "... entities features"], size: int, walls: Walls = "for one policy"
) -> Bool[Tensor, "... entities entities"]:
    """Play the world of Appendix F.1 step by step: which pairs are ever in one cell at one time.

    Args:
        walls: which pairs are stopped at the far walls: those of one policy, as the formulas have it, all or none.

    Raises:
        ParameterError: ``walls`` is none of the three.
    """
    require(walls=(walls, get_args(Walls)))
    right = (entities[..., POLICY] == RIGHT).to(torch.int64)
    pace = torch.stack([right, 1 - right], dim=-1)
    start = entities[..., [X, Y]]
    met_free = entities.new_zeros(*entities.shape[:-1], entities.shape[-2], dtype=torch.bool)
    met_walled = met_free.clone()
    for step in range(2 * size):
        free = start + step * pace
        met_free |= _same_cell(free)
        met_walled |= _same_cell(free.clamp(max=size - 1))
    if walls != "for one policy":
        return met_walled if walls == "everywhere" else met_free
    alike = right[..., :, None] == right[..., None, :]
    return torch.where(alike, met_walled, met_free)


def simulated_values(
    entities: Int[Tensor, "... entities features"], size: int, walls: Walls = "for one policy"
) -> Float[Tensor, "... entities"]:
    """The gains and losses of each entity in the play: a hunter +1 for every prey it meets, a prey -1 for every hunter.

    This is the value function of Appendix F.1.

    Raises:
        ParameterError: as :func:`meetings`.
    """
    species = entities[..., SPECIES]
    hunts = meetings(entities, size, walls) & (species[..., :, None] != species[..., None, :])
    gain = torch.where(species == PREY, 1.0, -1.0).to(torch.float64)
    return (hunts * gain[..., None, :]).sum(dim=-1)


def value_heads(size: int, form: Form = "correct") -> list[CoupledHead]:
    """The value function as heads of Eq. 36.

    An entity that moves right meets one that moves up where ``x_i + t = x_j`` and ``y_i = y_j + t`` with ``t >= 0``: on
    one rising diagonal, ``x_i + y_i = x_j + y_j``, and with the first to the left, ``x_i <= x_j``. That takes two
    heads, one for each direction of the pair.

    ``form="printed"`` has one head with ``x_i - x_j = y_i - y_j``, which is the rising diagonal if y points down, and
    no condition on time. The paper has an approximate sign, which it does not explain; it is read as equality.

    Raises:
        ParameterError: no cell or an unknown form.
    """
    require(form=(form, FORMS), size=(size, 1, None))
    opponents = Factor(SPECIES, SPECIES, 1.0 - torch.eye(2, dtype=torch.float64))
    weight = Weight(SPECIES, torch.tensor([-1.0, 1.0], dtype=torch.float64))
    equal = torch.eye(size, dtype=torch.float64)
    diagonal = torch.eye(2 * size - 1, dtype=torch.float64)
    left_of = torch.ones(size, size, dtype=torch.float64).triu()

    def policies(*pairs: tuple[int, int]) -> Factor:
        table = torch.zeros(2, 2, dtype=torch.float64)
        for pair in pairs:
            table[pair] = 1.0
        return Factor(POLICY, POLICY, table)

    same_row = [opponents, policies((RIGHT, RIGHT)), Factor(Y, Y, equal)]
    same_column = [opponents, policies((UP, UP)), Factor(X, X, equal)]
    if form == "printed":
        crossing = [opponents, policies((RIGHT, UP), (UP, RIGHT)), Factor(FALLING, FALLING, diagonal)]
        return [CoupledHead(factors, [weight] * 3) for factors in (crossing, same_row, same_column)]
    rising = Factor(RISING, RISING, diagonal)
    runs_into = [opponents, policies((RIGHT, UP)), rising, Factor(X, X, left_of)]
    is_run_into = [opponents, policies((UP, RIGHT)), rising, Factor(X, X, left_of.mT)]
    return [CoupledHead(factors, [weight]) for factors in (runs_into, is_run_into, same_row, same_column)]


def crossing_condition(
    entities: Int[Tensor, "... entities features"], form: Form = "correct"
) -> Bool[Tensor, "... entities entities"]:
    """For pairs of different policies, whether the formula of Appendix F.1 says that they meet.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    at, of = entities[..., :, None, :], entities[..., None, :, :]
    differ = at[..., POLICY] != of[..., POLICY]
    if form == "printed":
        return differ & (at[..., FALLING] == of[..., FALLING])
    moves_right = at[..., POLICY] == RIGHT
    in_time = torch.where(moves_right, at[..., X] <= of[..., X], at[..., X] >= of[..., X])
    return differ & (at[..., RISING] == of[..., RISING]) & in_time


def diagonal_residual(size: int) -> float:
    """How far ``I{x_i - x_j = y_i - y_j}`` is from bilinear in one-hots of x and y side by side.

    The squared size of what the best bilinear form misses, as a fraction of the whole. It is not 0, so the diagonal
    needs a separate one-hot, which Appendix F.1 does not give it.

    Raises:
        ParameterError: no cell.
    """
    require(size=(size, 1, None))
    cells = torch.cartesian_prod(torch.arange(size), torch.arange(size))
    falling = cells[:, 0] - cells[:, 1]
    table = (falling[:, None] == falling).to(torch.float64)
    unit = torch.eye(size, dtype=torch.float64)
    embedding = torch.cat([unit[cells[:, 0]], unit[cells[:, 1]]], dim=1)
    onto = embedding @ torch.linalg.pinv(embedding)
    return ((table - onto @ table @ onto).square().sum() / table.square().sum()).item()


def _same_cell(cells: Int[Tensor, "... entities 2"]) -> Bool[Tensor, "... entities entities"]:
    return (cells[..., :, None, :] == cells[..., None, :, :]).all(dim=-1)
