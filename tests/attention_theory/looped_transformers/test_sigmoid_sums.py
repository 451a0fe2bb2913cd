import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.approximation import (
    mirrored,
    reciprocal_partition,
    reciprocal_sigmoids,
    root_partition,
    root_sigmoids,
)
from attention_theory.looped_transformers.barron import (
    Element,
    bump,
    bump_constant,
    bump_magnitude,
    fourier_constant,
    greedy_fit,
    step_magnitude,
)
from attention_theory.looped_transformers.sigmoid_sums import ManyHeads, OneHead
from attention_theory.validation import ParameterError


@given(
    functions=st.integers(1, 4),
    terms=st.integers(1, 6),
    width=st.integers(1, 4),
    size=st.integers(3, 6),
    spare=st.integers(0, 8),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=15, deadline=None)
def test_many_heads_add_up_the_chosen_sigmoids(
    functions: int, terms: int, width: int, size: int, spare: int, seed: int
) -> None:
    draw = torch.Generator().manual_seed(seed)
    a = torch.randn(functions, terms, width, generator=draw, dtype=torch.float64)
    c = torch.randn(functions, terms, generator=draw, dtype=torch.float64)
    x = torch.randn(4, width, generator=draw, dtype=torch.float64)
    heads = ManyHeads(a, c, size, spare)
    for chosen in range(functions):
        slow = sum(c[chosen, i] * (x @ a[chosen, i]).sigmoid() for i in range(terms))
        assert (heads(x, chosen) - slow).abs().max() < 1e-13


@given(terms=st.integers(1, 9), seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_one_head_computes_all_sigmoids_and_their_sum(terms: int, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    a = torch.randn(terms, 3, generator=draw, dtype=torch.float64)
    c = torch.randn(terms, generator=draw, dtype=torch.float64)
    x = torch.randn(4, 3, generator=draw, dtype=torch.float64)
    sigmoids = c * (x @ a.mT).sigmoid()
    assert (OneHead(a, c).sigmoids(x) - sigmoids).abs().max() < 1e-12
    sums = OneHead(a, c).sums(x)
    assert sums.shape == (4, terms + 1)
    assert (sums - sigmoids.sum(-1, keepdim=True)).abs().max() < 1e-12


def test_without_the_empty_column_every_sigmoid_is_one() -> None:
    a = torch.randn(4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.allclose(OneHead(a, empty_column=False).sigmoids(a[:1]), torch.ones(1, 4, dtype=torch.float64))


@given(error=st.floats(0.02, 0.5), least=st.floats(0.05, 0.5), most=st.floats(1.0, 1e4))
@settings(max_examples=25, deadline=None)
def test_steps_and_sigmoids_stay_near_the_reciprocal(error: float, least: float, most: float) -> None:
    x = torch.logspace(math.log10(least), math.log10(most), 3000, dtype=torch.float64).clamp(least, most * (1 - 1e-12))
    assert (reciprocal_partition(error, least, most)(x) - 1 / x).abs().max() < error
    assert (reciprocal_sigmoids(error, least, most)(x) - 1 / x).abs().max() < error


@given(error=st.floats(0.02, 0.5), most=st.floats(1.0, 50.0))
@settings(max_examples=25, deadline=None)
def test_steps_and_sigmoids_stay_near_the_root(error: float, most: float) -> None:
    x = torch.linspace(0, most, 3000, dtype=torch.float64)[:-1]
    partition = root_partition(error, most)
    assert (partition(x) - x.sqrt()).abs().max() < error * (1 + 1e-9)
    assert (root_sigmoids(error, most)(x) - x.sqrt()).abs().max() < error
    assert partition.intervals - 1 < math.sqrt(most) / error <= partition.intervals + 1e-6


def test_the_mirror_is_odd() -> None:
    function = mirrored(reciprocal_sigmoids(0.1, 0.2, 5.0))
    x = torch.linspace(0.2, 4.9, 100, dtype=torch.float64)
    assert torch.allclose(function(-x), -function(x), rtol=0, atol=1e-12)
    assert (function(-x) + 1 / x).abs().max() < 0.1


def test_fourier_constants() -> None:
    frequencies = torch.linspace(-80, 80, 80_001, dtype=torch.float64)
    assert abs(fourier_constant(bump_magnitude(frequencies, 0.3), frequencies) - bump_constant(0.3)) < 1e-6
    outside = torch.linspace(1e-3, 80, 80_001, dtype=torch.float64)
    assert math.isclose(2 * fourier_constant(step_magnitude(outside), outside), 80 / math.pi, rel_tol=1e-3)


def test_elements_outside_the_dictionary_are_refused() -> None:
    inside = Element(gamma=1.0, a=-1.0, b=0.5, tau=3.0, constant=0.5)
    assert 0 < inside(torch.zeros(())).item() < 1
    with pytest.raises(ParameterError, match="gamma"):
        Element(gamma=1.1, a=1.0, b=0.0, tau=1.0, constant=0.5)
    with pytest.raises(ParameterError, match="a must be"):
        Element(gamma=0.1, a=1.5, b=0.0, tau=1.0, constant=0.5)


def test_the_greedy_fit_stays_in_the_hull_and_improves() -> None:
    x = torch.linspace(-1, 1, 401, dtype=torch.float64)
    constant = bump_constant(0.4)
    fits = [greedy_fit(bump(x, 0.4), x, terms, 20.0, constant) for terms in (2, 16)]
    assert all(fit.gamma.abs().sum() <= 2 * constant + 1e-12 for fit in fits)
    assert fits[1].mean_square < fits[0].mean_square / 2
    assert all(fit.mean_square <= fit.largest for fit in fits)
