import pytest
import torch

from attention_theory.linear_attention.experiments.associative_memory import (
    hidden_head,
    lookup_heads,
    memory_teacher,
    mix_memories,
    printed_labels,
    sample_memories,
)
from attention_theory.linear_attention.model.mhla import mhla
from attention_theory.linear_attention.model.parameters import coefficients, distance
from attention_theory.numerics import relative_error


def test_the_query_is_a_key() -> None:
    tokens = sample_memories(50, 4, "gaussian", seed=1)
    same = (tokens[:, :-1, :4] == tokens[:, -1:, :4]).all(dim=2)
    assert (same.sum(dim=1) == 1).all()
    assert same.any(dim=0).all()


def test_orthogonal_tables_have_orthonormal_keys_and_values() -> None:
    tokens = sample_memories(10, 4, "orthogonal", seed=2)
    for half in (tokens[:, :-1, :4], tokens[:, :-1, 4:]):
        assert torch.allclose(half @ half.mT, torch.eye(4, dtype=torch.float64).expand(10, 4, 4), atol=1e-13)


@pytest.mark.parametrize("width", [3, 4])
def test_the_hidden_head_shows_on_gaussian_memories_only(width: int) -> None:
    head = hidden_head(width, 10)
    assert mhla(head, sample_memories(30, width, "orthogonal", seed=0)).abs().max() < 1e-12
    assert mhla(head, sample_memories(30, width, "gaussian", seed=0)).abs().max() > 1
    assert coefficients(head).norm().item() == pytest.approx(10 * 2**0.5)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_lookup_heads_give_the_printed_labels_on_orthogonal_memories(width: int) -> None:
    heads = lookup_heads(width)
    tokens = sample_memories(30, width, "orthogonal", seed=0)
    assert heads.count == width**2 + 1
    assert relative_error(mhla(heads, tokens), printed_labels(tokens)) < 1e-12
    assert distance(heads, memory_teacher(width)).item() == pytest.approx(width / (width + 1))
    tokens = sample_memories(30, width, "gaussian", seed=0)
    assert (relative_error(mhla(heads, tokens), printed_labels(tokens)) > 0.01) == (width > 1)


def test_mixing_takes_whole_tables() -> None:
    first, second = torch.zeros(4000, 2, 2), torch.ones(4000, 2, 2)
    mixed = mix_memories(first, second, 0.25, seed=0)
    assert ((mixed == 0).flatten(1).all(dim=1) | (mixed == 1).flatten(1).all(dim=1)).all()
    assert abs(mixed.mean() - 0.25) < 0.03
    assert torch.equal(mix_memories(first, second, 1.0, seed=0), second)
