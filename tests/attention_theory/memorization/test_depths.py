import pytest
import torch

from attention_theory.memorization.depths import (
    _smallest_ratios,
    _tolerance,
    cut_positions,
    examine_depths,
    kinds_of_positions,
    predicted_rank,
)
from attention_theory.memorization.kruskal import independent_prefixes, largest_satisfied
from attention_theory.memorization.language import random_language_model
from attention_theory.randomness import normal

MODEL = random_language_model("bert", 50, 10, 12, 3, seed=0, depth=2)
TEXTS = torch.randint(2, 50, (30, 10), generator=torch.Generator().manual_seed(1)).index_fill(1, torch.tensor(0), 0)


def test_every_depth_is_examined_as_the_model_computes_it() -> None:
    found = examine_depths(MODEL, TEXTS, torch.float32, draws=20, contexts=8)
    assert [at.depth for at in found] == [0, 1, 2]
    for at in found:
        queries = MODEL.queries(TEXTS, at.depth)
        assert torch.equal(at.contexts, MODEL.independent_contexts(TEXTS[:8], at.depth))
        assert torch.allclose(at.spectrum.sum(), queries.double().square().sum() / 30, rtol=1e-4)
    assert found[0].repeats == 29
    assert int(found[0].prefixes.max()) == 1
    # without gain and bias the entries of a token sum to 0
    assert int(found[1].prefixes.max()) == 11


def test_without_positions_equal_words_are_equal_tokens() -> None:
    texts = TEXTS.clone()
    texts[:, 5] = texts[:, 2]
    models = kinds_of_positions(MODEL)
    for at in examine_depths(models["none"], texts, torch.float64, draws=1, contexts=30):
        assert not at.contexts.any()
    for kind in ("trained", "random", "sinusoidal"):
        found = examine_depths(models[kind], texts, torch.float64, draws=1, contexts=30)
        assert all(at.contexts.all() for at in found)


def test_positions_are_cut_in_exact_enough_arithmetic() -> None:
    for rank in (0, 1, 4, 10):
        cut = cut_positions(MODEL, 10, rank)
        assert int(torch.linalg.matrix_rank(cut.positions, rtol=1e-12)) == rank
    assert torch.allclose(cut_positions(MODEL, 10, 10).positions, MODEL.positions.double(), atol=1e-14)


def test_smallest_ratios() -> None:
    matrices = torch.stack([torch.eye(2, 3), torch.tensor([[3.0, 0, 0], [0, 0.3, 0]])])
    assert torch.allclose(_smallest_ratios(matrices), torch.tensor([1.0, 0.1]).double(), atol=1e-7)
    assert _smallest_ratios(matrices.mT).tolist() == [0.0, 0.0]
    assert _tolerance((3, 5), torch.float32) == 5 * 2**-23


@pytest.mark.parametrize("decay", [4.0, 6.0, 9.0])
def test_the_rank_is_predicted_from_the_spectrum(decay: float) -> None:
    """Gaussian vectors: the rule fails within a few vectors of the prediction, in half of the orders."""
    spectrum = torch.logspace(0, -2 * decay, 150, dtype=torch.float64)
    vectors = (normal(600, 150, seed=0) * spectrum.sqrt()).float()
    seen = independent_prefixes(vectors, 150, draws=100, seed=1)
    predicted = predicted_rank(spectrum, torch.float32)
    assert largest_satisfied(seen) - 2 <= predicted <= int(seen.median()) + 2
    assert predicted_rank(spectrum, torch.float64) >= 149


def test_a_prediction_stays_below_the_exact_rank() -> None:
    spectrum = torch.tensor([1.0] * 40 + [0.0] * 10)
    assert predicted_rank(spectrum, torch.float32) == 39
    assert predicted_rank(torch.zeros(5), torch.float64) == 0
