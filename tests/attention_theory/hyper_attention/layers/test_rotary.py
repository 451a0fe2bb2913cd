import pytest
import torch

from attention_theory.hyper_attention.layers.hyper_feature_attention import HyperFeatureAttention
from attention_theory.hyper_attention.layers.rotary import rotate
from attention_theory.validation import ParameterError


def test_scores_depend_on_the_distance_alone_and_lengths_are_kept() -> None:
    q, k = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    here = rotate(q) @ rotate(k).mT
    for shift in (1, 17, 400):
        there = rotate(q, first=shift) @ rotate(k, first=shift).mT
        torch.testing.assert_close(here, there, rtol=0, atol=1e-12)
    torch.testing.assert_close(rotate(q).norm(dim=-1), q.norm(dim=-1), rtol=0, atol=1e-13)
    assert not torch.allclose(here, q @ k.mT)


def test_pairs_turn_by_position_times_rate() -> None:
    one = torch.zeros(3, 4, dtype=torch.float64)
    one[:, 1] = 1.0
    angles = torch.arange(3, dtype=torch.float64) / 10_000.0 ** (2 / 4)
    turned = rotate(one)
    torch.testing.assert_close(turned[:, 1], angles.cos())
    torch.testing.assert_close(turned[:, 3], angles.sin())


def test_odd_width_is_refused() -> None:
    with pytest.raises(ParameterError, match="half_of_width"):
        rotate(torch.ones(2, 3))


def test_a_layer_of_order_two_with_rotary_sees_order() -> None:
    torch.manual_seed(0)
    layer = HyperFeatureAttention(16, [2, 2], causal=False, rotary=True).double()
    x = torch.randn(1, 5, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert (layer(x.flip(1)).flip(1) - layer(x)).abs().max() > 1e-3
