from fractions import Fraction

import pytest
import torch

from attention_theory.in_context_reasoning.certified import enumeration, samples
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.embedding import Embedding
from attention_theory.in_context_reasoning.finite_sample import mean_estimates
from attention_theory.in_context_reasoning.model import Weights
from attention_theory.in_context_reasoning.task import Task, violations

FIFTH, DELTA = Fraction(1, 5), Fraction(1, 20)


def test_the_path_is_a_line_on_every_data_set() -> None:
    assert samples.certify_path(2, 3).settled


def test_the_mean_of_the_estimate() -> None:
    """The exact probabilities are those of the package's mean."""
    assert samples.certify_mean(20, FIFTH).settled
    mean = sum(samples.chance_of(k, 20, FIFTH) * Fraction(k, 20) for k in range(21))
    assert float(mean) == pytest.approx(mean_estimates(20, 0.2)[0], rel=1e-12)


@pytest.mark.parametrize("level", [FIFTH, Fraction(1, 2), Fraction(4, 5)])
def test_the_layers_separate(level: Fraction) -> None:
    assert samples.certify_separation(400, level, DELTA, 0.1).settled


def test_a_look_up_that_ignores_the_noise_token_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the sum that attention collects the feed-forward layer never speaks of τ."""
    build = enumeration.reparameterised

    def moved(task: Task, codes: Embedding, scales: torch.Tensor, gamma: float = 0.0) -> Weights:
        weights = build(task, codes, scales, gamma)
        weights.feed_forward[task.noise_token, task.tokens] = 0.0
        return weights

    monkeypatch.setattr(enumeration, "reparameterised", moved)
    assert samples.certify_separation(400, FIFTH, DELTA, 0.1).outcome != "proved"


def test_the_sentences_are_of_the_task_and_of_all_counts() -> None:
    sentences = samples.sentences_by_count()
    assert not torch.stack(list(violations(sentences, samples.SMALL).values())).any()
    logits = enumeration.run_at(samples.SMALL, sentences.tokens, [1.0], odds(0.5)).attention[:, 1]
    assert logits.tolist() == [1.0, 2.0, 3.0]
