"""Draws can be made again, and streams of one seed are strangers to each other."""

import torch

from attention_theory.randomness import generator, normal, streams


def test_a_number_names_its_draws_and_a_generator_goes_on() -> None:
    source = generator(3)
    first, second = normal(2, 3, seed=source), normal(2, 3, seed=source)
    assert torch.equal(first, normal(2, 3, seed=3))
    assert not torch.equal(first, second)
    assert generator(source) is source


def test_normal_is_the_library_draw_of_the_type_asked_for() -> None:
    for dtype in (torch.float64, torch.float32):
        drawn = normal(4, 2, seed=5, dtype=dtype)
        assert torch.equal(drawn, torch.randn(4, 2, generator=torch.Generator().manual_seed(5), dtype=dtype))
    assert normal(seed=0).shape == ()
    assert normal(2, seed=0, device="meta").is_meta


def test_streams_are_fixed_by_the_seed_and_more_of_them_change_nothing() -> None:
    assert streams(0, 2) == streams(0, 5)[:2]
    assert len({stream for seed in range(50) for stream in streams(seed, 50)}) == 2500
    assert streams(0, 2)[1] != streams(1, 1)[0]


def test_streams_are_uncorrelated() -> None:
    draws = torch.stack([normal(10_000, seed=stream) for seed in range(3) for stream in streams(seed, 3)])
    correlations = torch.corrcoef(draws) - torch.eye(9, dtype=torch.float64)
    assert correlations.abs().max() < 5 / 10_000**0.5  # five standard errors


def test_a_generator_gives_new_streams_each_time() -> None:
    source = generator(0)
    once, again = streams(source, 2), streams(source, 2)
    assert once != again
    assert once == streams(generator(0), 2)
