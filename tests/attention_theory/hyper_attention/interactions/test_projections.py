import itertools
import math

import pytest
import torch

from attention_theory.hyper_attention.interactions.projections import (
    agreements,
    enough_entrywise,
    fewest_entrywise,
    least_width,
    missed_agreements,
    search_entrywise,
    width_for,
)
from attention_theory.randomness import normal


def test_the_width_found_is_enough_and_one_less_is_not() -> None:
    width = width_for(30, 0.5, 200, seed=3)
    vectors = normal(30, 200, seed=3)
    enough, short = (torch.nn.functional.normalize(vectors[:, :w]) for w in (width, width - 1))
    assert (enough @ enough.mT - torch.eye(30)).abs().max() <= 0.5 < (short @ short.mT - torch.eye(30)).abs().max()


@pytest.mark.parametrize("width", [1, 3, 6])
def test_missed_agreements_are_those_of_all_tokens(width: int) -> None:
    features, values = 3, 3
    tokens = torch.tensor(list(itertools.product(range(values), repeat=features)))
    centred = torch.linalg.qr(torch.eye(values, dtype=torch.float64) - 1 / values).Q[:, : values - 1]
    whitened = torch.cat([centred[tokens[:, a]] for a in range(features)], dim=1)  # orthogonal columns of equal norm
    rows = normal(features * (values - 1), width, seed=width)
    held = torch.linalg.qr(whitened @ rows).Q
    missed = total = 0.0
    for a in range(features):
        agree = (tokens[:, a, None] == tokens[:, a]).double() - 1 / values
        best = held @ (held.mT @ agree @ held) @ held.mT
        missed, total = missed + (agree - best).square().sum().item(), total + agree.square().sum().item()
    assert missed_agreements(rows, features, values) == pytest.approx(missed / total, abs=1e-12)


def test_agreements_are_those_of_tokens_compared_one_by_one() -> None:
    tables = agreements(2, 3)
    tokens = list(itertools.product(range(3), repeat=2))
    wanted = [[[float(one[a] == other[a]) for other in tokens] for one in tokens] for a in range(2)]
    assert tables.tolist() == wanted
    assert torch.equal(tables.prod(dim=0), torch.eye(9, dtype=torch.float64))


def test_the_least_width_has_half_the_rank_and_one_less_has_not() -> None:
    for features, values in ((3, 3), (8, 2), (40, 4)):
        width = least_width(features, values)
        ranks = [math.comb(d + features - 1, features) for d in (width, width - 1)]
        assert 2 * ranks[0] >= values**features > 2 * ranks[1]


@pytest.mark.parametrize(("count", "order"), [(4, 1), (4, 2), (64, 1), (64, 6), (2**40, 40)])
def test_no_power_leaves_room_below_the_fewest_dimensions(count: int, order: int) -> None:
    width = fewest_entrywise(count, order)
    room = [
        math.comb(width - 1 + order * r - 1, order * r) >= count / (1 + (count - 1) / 4**r) if width > 1 else False
        for r in range(1, 30)
    ]
    assert not all(room)


@pytest.mark.parametrize("order", [1, 2, 5])
def test_lines_that_are_enough_are_found_greedily(order: int) -> None:
    count, least = 12, 0.5 ** (1 / order)
    width = enough_entrywise(count, order)
    chosen: list[torch.Tensor] = []
    for vector in torch.nn.functional.normalize(normal(4000, width, seed=order), dim=1):
        if all((vector @ other).abs() <= least for other in chosen):
            chosen.append(vector)
    assert len(chosen) >= count


def test_the_search_returns_what_its_scores_give() -> None:
    tokens, scores = search_entrywise(4, 2, 2, seed=0, restarts=4, steps=300)
    products = torch.stack([tokens @ matrix @ tokens.T for matrix in scores]).prod(dim=0)
    assert (products - torch.eye(4)).abs().max() < 1 / 3
