import math

import pytest
import torch

from attention_theory.linear_attention.model.features import certificate_features, cubic_features, pairs, psi
from attention_theory.linear_attention.model.literal import cubic_features_by_loops
from attention_theory.randomness import generator


def integers(batch: int, tokens: int, width: int, seed: int) -> torch.Tensor:
    return torch.randint(-9, 10, (batch, tokens, width), generator=generator(seed)).double()


def test_printed_order_runs_over_k_first() -> None:
    z = integers(1, 4, 3, seed=0)[0]
    ours = cubic_features_by_loops(z).reshape(3, 3, 3)
    assert torch.equal(cubic_features(z, form="printed"), ours.transpose(1, 2).reshape(3, 9))


def test_causal_features_are_those_of_every_prefix() -> None:
    z = integers(2, 5, 3, seed=1)
    prefixes = torch.stack([certificate_features(z[:, : t + 1]) for t in range(5)], dim=1)
    assert torch.equal(certificate_features(z, is_causal=True), prefixes)


@pytest.mark.parametrize(("width", "expected"), [(1, 1), (2, 6), (3, 18), (4, 40), (5, 75), (6, 126)])
def test_psi_counts_the_distinct_features(width: int, expected: int) -> None:
    assert psi(width) == expected == math.comb(width, 2) * width + width**2
    assert certificate_features(integers(1, 2, width, seed=0)).shape == (1, expected)
    j, k = pairs(width)
    assert len({(int(a), int(b)) for a, b in zip(j, k, strict=True)}) == len(j) == width * (width + 1) // 2
