import pytest
import torch

from attention_theory.hyper_attention.interactions.approximation import approximate, best_residual, printed_bound
from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions, sample_sequences
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError

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


def test_full_ranks_are_exact() -> None:
    layer = approximate(EFFECT, WEIGHTS, SIZE, 4)
    assert layer.bound == 0
    torch.testing.assert_close(layer.embedding @ layer.score @ layer.embedding.mT, EFFECT)


def test_the_printed_bound_counts_what_is_left_out() -> None:
    strengths, weight_strengths = torch.linalg.svdvals(EFFECT), torch.linalg.svdvals(WEIGHTS)
    assert printed_bound(EFFECT, WEIGHTS, 5) == pytest.approx(WEIGHTS.norm(dim=1).max() * strengths[5])
    assert printed_bound(EFFECT, WEIGHTS, 3) > WEIGHTS.norm(dim=1).max() * strengths[3]
    assert weight_strengths[3] > 0


def test_training_finds_the_truncation_error_of_the_identity() -> None:
    identity = torch.eye(4, dtype=torch.float64).unsqueeze(-1)
    assert best_residual(identity, 2, restarts=16, steps=1500, seed=0) == pytest.approx(2, abs=1e-5)


def test_ranks_out_of_range_are_refused() -> None:
    with pytest.raises(ParameterError, match="weight_rank"):
        approximate(EFFECT, WEIGHTS, 2, 5)
