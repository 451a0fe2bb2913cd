import pytest
import torch

from attention_theory.looped_transformers.blocks.approximation import (
    reciprocal_partition,
    reciprocal_sigmoids,
    root_partition,
)


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
