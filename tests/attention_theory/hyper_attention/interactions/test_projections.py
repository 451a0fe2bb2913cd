import itertools
import math

import pytest
import torch

from attention_theory.hyper_attention.interactions.projections import (
    agreements,
    least_width,
    missed_agreements,
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
