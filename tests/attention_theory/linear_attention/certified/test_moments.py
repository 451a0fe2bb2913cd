import pytest
import torch
from torch import Tensor

from attention_theory.certificates import Certificate
from attention_theory.linear_attention.certified import moments
from attention_theory.linear_attention.learning.exact_moments import EntryDistribution


@pytest.fixture(scope="module")
def all_moments() -> Certificate:
    return moments.certify_moments()


def test_all_mean_products_are_settled(all_moments: Certificate) -> None:
    assert all_moments.settled, all_moments.control


@pytest.mark.parametrize(("width", "tokens"), [(2, 2), (2, 3), (3, 2)])
def test_two_values_are_enough(width: int, tokens: int) -> None:
    certificate = moments.certify_noise(width, tokens)
    assert certificate.settled, certificate.control


def test_a_moment_that_is_wrong_in_its_last_bit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = EntryDistribution.second_moment

    def wrong(self: EntryDistribution, width: int, tokens: int, centred: bool = False) -> Tensor:
        moment = right(self, width, tokens, centred)
        moment[-1, -1] = torch.nextafter(moment[-1, -1], moment[-1, -1] + 1)
        return moment

    monkeypatch.setattr(EntryDistribution, "second_moment", wrong)
    assert moments.certify_moments(3).outcome == "refuted"
