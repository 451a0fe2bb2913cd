import pytest
import torch
from torch import Tensor

from attention_theory.linear_attention.certified import moments
from attention_theory.linear_attention.learning.exact_moments import EntryDistribution


def test_a_moment_that_is_wrong_in_its_last_bit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = EntryDistribution.second_moment

    def wrong(self: EntryDistribution, width: int, tokens: int, centred: bool = False) -> Tensor:
        moment = right(self, width, tokens, centred)
        moment[-1, -1] = torch.nextafter(moment[-1, -1], moment[-1, -1] + 1)
        return moment

    monkeypatch.setattr(EntryDistribution, "second_moment", wrong)
    assert moments.certify_moments(3).outcome == "refuted"
