from itertools import product

import pytest
import torch

from attention_theory.linear_attention.learning.exact_moments import EntryDistribution
from attention_theory.linear_attention.model.features import certificate_features, pairs
from attention_theory.numerics import relative_error

SKEW = EntryDistribution((-1.0, 2.0), (2 / 3, 1 / 3))


def by_enumeration(law: EntryDistribution, width: int, tokens: int, centred: bool) -> torch.Tensor:
    """Every outcome of every entry, with its probability."""
    cells = width * tokens
    outcomes = torch.tensor(list(product(law.values, repeat=cells)), dtype=torch.float64).reshape(-1, tokens, width)
    chance = torch.tensor(list(product(law.weights, repeat=cells)), dtype=torch.float64).prod(dim=1)
    features = certificate_features(outcomes)
    if centred:
        j, k = pairs(width)
        shift = tokens * law.moment(2) * (j == k).double()
        features = features - (shift[:, None] * outcomes[:, -1, None, :]).flatten(1)
        features = features / tokens**0.5
    return (features * chance[:, None]).mT @ features


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("width", "tokens"), [(1, 3), (2, 1), (2, 2), (2, 4), (3, 2)])
def test_token_moments_give_the_sum_over_all_outcomes(width: int, tokens: int, centred: bool) -> None:
    for law in (SKEW, EntryDistribution.uniform(-1.0, 0.0, 1.0)):
        reference = by_enumeration(law, width, tokens, centred)
        assert relative_error(law.second_moment(width, tokens, centred), reference) < 1e-12


def test_the_gaussian_nodes_have_gaussian_moments() -> None:
    moments = [EntryDistribution.gaussian().moment(degree) for degree in range(8)]
    assert torch.allclose(torch.tensor(moments), torch.tensor([1.0, 0, 1, 0, 3, 0, 15, 0]), atol=1e-12)


def test_linear_feature_by_hand() -> None:
    """Entries 0 or 2 with even chances, so m_2 is 2, m_4 is 8 and an entry counts with its square."""
    square, with_single = EntryDistribution.uniform(0.0, 2.0).linear_feature_moments(3)
    assert square == pytest.approx(2**2 * 2)
    assert with_single == pytest.approx(2 * (8 - 2**2) / 3**0.5)
