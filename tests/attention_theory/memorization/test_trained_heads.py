import pytest
import torch

from attention_theory.memorization.attention import Examples, KeyQueryHeads, features, predict, random_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.general_position import narrow_contexts
from attention_theory.memorization.readout import solve_readout
from attention_theory.memorization.trained_heads import _residual, fit_keys_and_queries
from attention_theory.randomness import normal


@pytest.mark.parametrize(
    ("examples", "count"),
    [
        (sample_examples(8, 3, 8, law="uniform", seed=0), 2),  # H (n - 1) + 1 = 5
        (sample_examples(18, 3, 4, shared=False, seed=3), 3),  # H d = 12
    ],
)
def test_trained_heads_meet_more_labels_than_their_features_have_rank(examples: Examples, count: int) -> None:
    labels = normal(examples.count, 1, seed=1)
    heads, residual = fit_keys_and_queries(examples, labels, count, examples.width, steps=300)
    readout = solve_readout(features(heads, examples), labels, count, 1)
    assert residual < 1e-9
    assert torch.allclose(predict(heads, readout, examples), labels, atol=1e-7)


def test_entries_that_tokens_share_do_not_feign_a_rank() -> None:
    narrow = narrow_contexts(10, 2, 4, seed=0)  # Z has 12 columns for these 10 examples, and rank 8
    examples = Examples(narrow.contexts / 50, narrow.queries / 50)
    labels = normal(10, 1, seed=200)
    _, untrained = fit_keys_and_queries(examples, labels, 3, 4, steps=1)
    heads, residual = fit_keys_and_queries(examples, labels, 3, 4, steps=300)
    outputs = predict(heads, solve_readout(features(heads, examples), labels, 3, 1), examples)
    assert untrained > 1e-3
    assert residual < 1e-9
    assert (outputs - labels).abs().max().item() == residual


def test_a_descent_that_runs_off_gives_the_heads_it_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_off(optimiser: torch.optim.LBFGS, _: object) -> None:
        for part in optimiser.param_groups[0]["params"]:
            part.data.fill_(torch.nan)

    monkeypatch.setattr(torch.optim.LBFGS, "step", run_off)
    examples, labels = sample_examples(8, 3, 8), normal(8, 1, seed=0)
    heads, residual = fit_keys_and_queries(examples, labels, 2, 8, seed=3)
    assert torch.equal(heads.keys, random_heads(2, 8, 8, 3).keys)
    assert 0 < residual < torch.inf


def test_which_entry_tokens_share_makes_no_difference() -> None:
    """Where the shared entry stands first or last, it is taken once: the best fit leaves as much."""
    narrow = narrow_contexts(10, 2, 4, seed=0)
    labels = normal(10, 1, seed=200)
    residuals = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        examples = Examples(narrow.contexts[..., order] / 50, narrow.queries[:, order] / 50)
        heads = KeyQueryHeads(normal(3, 4, 4, seed=1)[:, order], normal(3, 4, 4, seed=2)[:, order])
        residuals.append(_residual(heads, examples, labels).norm().item())
    assert residuals == pytest.approx(3 * [residuals[0]], rel=1e-6)
