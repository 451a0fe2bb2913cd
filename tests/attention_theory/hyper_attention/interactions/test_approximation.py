import itertools

import pytest
import torch

from attention_theory.hyper_attention.interactions.approximation import (
    approximate,
    best_residual,
    largest_error,
    truncation_bound,
)
from attention_theory.hyper_attention.interactions.interactions import (
    aggregate_interactions,
    outputs_from_counts,
    sample_sequences,
)
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.randomness import generator, normal
from attention_theory.validation import FORMS

SIZE, LENGTH = 9, 6
DRAW = generator(0)
EFFECT = normal(SIZE, SIZE, seed=DRAW)
WEIGHTS = normal(SIZE, 4, seed=DRAW)


@pytest.mark.parametrize("ranks", [(1, 1), (2, 2), (3, 3), (2, 4)])
def test_the_bound_holds(ranks: tuple[int, int]) -> None:
    layer = approximate(EFFECT, WEIGHTS, *ranks)
    assert layer.embedding.shape == (SIZE, min(SIZE, 2 * ranks[0] + ranks[1]))
    symbols = sample_sequences(200, LENGTH, SIZE, seed=1)
    outputs = linear_attention(layer.embedding[symbols], layer.score, layer.value)
    errors = (outputs - aggregate_interactions(symbols, EFFECT, WEIGHTS)).norm(dim=-1)
    assert errors.max() <= LENGTH * layer.bound


def test_the_printed_bound_counts_what_is_left_out() -> None:
    strengths, weight_strengths = torch.linalg.svdvals(EFFECT), torch.linalg.svdvals(WEIGHTS)
    longest = WEIGHTS.norm(dim=1).max()
    assert truncation_bound(EFFECT, WEIGHTS, 5, 5, form="printed") == pytest.approx(longest * strengths[5])
    correct, printed = (truncation_bound(EFFECT, WEIGHTS, 2, 2, form) for form in FORMS)
    left, values, right = torch.linalg.svd(EFFECT)
    largest = (left[:, :2] * values[:2] @ right[:2]).abs().max()
    assert correct == pytest.approx(longest * strengths[2] + largest * weight_strengths[2])
    assert printed == pytest.approx(longest * strengths[2] + largest * weight_strengths[2:].norm())


@pytest.mark.parametrize("length", [1, 2, 4])
def test_the_largest_error_is_that_of_all_sequences(length: int) -> None:
    error = normal(3, 3, 2, seed=0)
    symbols = torch.tensor(list(itertools.product(range(3), repeat=length)))
    assert largest_error(error, length) == pytest.approx(outputs_from_counts(symbols, error).norm(dim=-1).max().item())
    assert largest_error(torch.stack([error, 2 * error]), length).shape == (2,)


def test_no_layer_on_two_symbols_errs_less_than_a_half() -> None:
    target = torch.tensor([[[0.0], [1.0]], [[0.0], [0.0]]], dtype=torch.float64)
    best = torch.full((2, 2, 1), 0.25, dtype=torch.float64)
    assert largest_error(best - target, 2) == 0.5
    assert 0.5 <= best_residual(target, 1, restarts=20, steps=1500, seed=0, length=2) < 0.51


def test_training_finds_the_truncation_error_of_the_identity() -> None:
    identity = torch.eye(4, dtype=torch.float64).unsqueeze(-1)
    assert best_residual(identity, 2, restarts=16, steps=1500, seed=0) == pytest.approx(2, abs=1e-5)
