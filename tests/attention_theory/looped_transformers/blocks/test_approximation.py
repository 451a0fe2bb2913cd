import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.blocks.approximation import (
    reciprocal_partition,
    reciprocal_sigmoids,
    root_partition,
    root_sigmoids,
)


@given(error=st.floats(0.02, 0.5), least=st.floats(0.05, 0.5), most=st.floats(1.0, 1e4))
@settings(max_examples=25)
def test_steps_and_sigmoids_stay_near_the_reciprocal(error: float, least: float, most: float) -> None:
    x = torch.logspace(math.log10(least), math.log10(most), 3000, dtype=torch.float64).clamp(least, most * (1 - 1e-12))
    assert (reciprocal_partition(error, least, most)(x) - 1 / x).abs().max() < error
    assert (reciprocal_sigmoids(error, least, most)(x) - 1 / x).abs().max() < error


@given(error=st.floats(0.02, 0.5), most=st.floats(1.0, 50.0))
@settings(max_examples=25)
def test_steps_and_sigmoids_stay_near_the_root(error: float, most: float) -> None:
    x = torch.linspace(0, most, 3000, dtype=torch.float64)[:-1]
    partition = root_partition(error, most)
    assert (partition(x) - x.sqrt()).abs().max() < error * (1 + 1e-9)
    assert (root_sigmoids(error, most)(x) - x.sqrt()).abs().max() < error
    assert partition.intervals - 1 < math.sqrt(most) / error <= partition.intervals + 1e-6


def test_the_mirror_is_odd() -> None:
    function = reciprocal_sigmoids(0.1, 0.2, 5.0).mirrored()
    x = torch.linspace(0.2, 4.9, 100, dtype=torch.float64)
    assert torch.allclose(function(-x), -function(x), rtol=0, atol=1e-12)
    assert (function(-x) + 1 / x).abs().max() < 0.1


def test_the_partitions_by_hand() -> None:
    halves = reciprocal_partition(1.0, 0.5, 1.0)
    assert halves.edges.tolist() == [0.5, 0.75, 1.3125]
    assert halves.values.tolist() == pytest.approx([2, 4 / 3])
    assert reciprocal_partition(1.0, 1.0, 1.0).edges.tolist() == [1]  # there is nothing left to cover
    roots = root_partition(0.5, 1.0)
    assert roots.edges.tolist() == [0, 0.25, 1]
    assert roots.values.tolist() == [0, 0.5]
    assert roots.intervals == 2
    inside = torch.tensor([-0.1, 0.0, 0.2, 0.25, 0.9, 1.0], dtype=torch.float64)
    assert roots(inside).tolist() == [0, 0, 0, 0.5, 0.5, 0]
    printed = roots(torch.tensor([0.5], dtype=torch.float64), "printed")
    assert printed.item() == (1 - 0) * 0 + (1 - 1) * 0.5  # 1[x < right] takes away where it should not
