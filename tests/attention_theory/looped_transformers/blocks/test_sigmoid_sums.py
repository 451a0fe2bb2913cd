import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.blocks.sigmoid_sums import ManyHeads, OneHead, OwnColumns
from attention_theory.randomness import generator, normal


@given(
    functions=st.integers(1, 4),
    terms=st.integers(1, 6),
    width=st.integers(1, 4),
    size=st.integers(3, 6),
    spare=st.integers(0, 8),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=15)
def test_many_heads_add_up_the_chosen_sigmoids(
    functions: int, terms: int, width: int, size: int, spare: int, seed: int
) -> None:
    draw = generator(seed)
    a = normal(functions, terms, width, seed=draw)
    c = normal(functions, terms, seed=draw)
    x = normal(4, width, seed=draw)
    heads = ManyHeads(a, c, size, spare)
    for chosen in range(functions):
        slow = sum(c[chosen, i] * (x @ a[chosen, i]).sigmoid() for i in range(terms))
        assert (heads(x, chosen) - slow).abs().max() < 1e-13


def test_a_row_that_is_not_cleared_keeps_the_mean_of_the_coefficients() -> None:
    draw = generator(0)
    a, c, x = (normal(*shape, seed=draw) for shape in ((1, 3, 2), (1, 3), (4, 2)))
    left = ManyHeads(a, c, 4, cleared=False)(x, 0) - ManyHeads(a, c, 4)(x, 0)
    assert torch.allclose(left, (c.sum() / 12).expand(4), rtol=0, atol=1e-13)


@given(terms=st.integers(1, 9), seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_one_head_computes_all_sigmoids_and_their_sum(terms: int, seed: int) -> None:
    draw = generator(seed)
    a = normal(terms, 3, seed=draw)
    c = normal(terms, seed=draw)
    x = normal(4, 3, seed=draw)
    sigmoids = c * (x @ a.mT).sigmoid()
    assert (OneHead(a, c).sigmoids(x) - sigmoids).abs().max() < 1e-12
    sums = OneHead(a, c).sums(x)
    assert sums.shape == (4, terms + 1)
    assert (sums - sigmoids.sum(-1, keepdim=True)).abs().max() < 1e-12


def test_without_the_empty_column_every_sigmoid_is_one() -> None:
    a = normal(4, 2, seed=0)
    assert torch.allclose(
        OneHead(a, form={"empty column": "printed"}).sigmoids(a[:1]), torch.ones(1, 4, dtype=torch.float64)
    )


@pytest.mark.parametrize(("terms", "width"), [(2, 3), (5, 5), (8, 2)])
def test_the_sum_needs_no_empty_column(terms: int, width: int) -> None:
    draw = generator(3)
    a, c, x = normal(terms, width, seed=draw), normal(terms, seed=draw), normal(10, width, seed=draw)
    sums = OwnColumns(a, c).sums(x)
    assert sums.shape == (10, terms)
    assert (sums - ((x @ a.mT).sigmoid() @ c)[:, None]).abs().max() < 1e-13
