"""The noisy instance against the transformer, its descent by automatic differentiation, its margin by a solver."""

from dataclasses import replace

import pytest
import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, odds
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, forward
from attention_theory.in_context_reasoning.noisy_direction import noisy_instance
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, violations
from attention_theory.randomness import normal

CASE = noisy_instance(7, 3, 2, 0.3)
TASK = Task(CASE.tokens, 1, 2, 7, noisy=True)


def logits_of(w: torch.Tensor, kind: int) -> torch.Tensor:
    """Of the transformer of Lemma 4.1, with the W that is ``x_H w^T`` over the square of the length of x_H."""
    codes = embedding(CASE.tokens, 2 * CASE.tokens)
    built = reparameterised(TASK, codes, torch.zeros(1, dtype=torch.float64), odds(0.3)).in_codes(codes)
    last = torch.zeros(2 * CASE.tokens, dtype=torch.float64)
    last[[0, CASE.tokens + 3]] = 1.0
    return forward(CASE.sentences[kind], replace(built, query_key=torch.outer(last, w) / 2), Architecture()).logits


def test_sentences_are_those_of_the_data_model() -> None:
    of_seen = Sentences(CASE.sentences[0], torch.zeros(len(CASE.output[0]), dtype=torch.long), CASE.output[0])
    assert not torch.stack(list(violations(of_seen, TASK).values())).any()
    for kind in (1, 2):  # the word is not an output and occurs once
        assert ((CASE.sentences[kind] == CASE.output[kind][:, None]).sum(dim=1) == 1).all()
        assert CASE.output[kind].min() > 2
    assert not (CASE.sentences[0] == CASE.output[1, 0]).any()


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_logits_and_excess_are_the_transformers(kind: int) -> None:
    w = normal(2 * CASE.tokens, seed=0)
    logits = logits_of(w, kind)
    features = CASE.features[kind] @ w
    features[:, -1] += odds(0.3)
    assert (logits - features).abs().max() < 1e-12
    label = torch.zeros_like(logits).scatter_(1, CASE.output[kind][:, None], 0.7)
    label[:, -1] = 0.3
    loss = (logits.logsumexp(dim=1) - (label * logits).sum(dim=1)).mean()
    assert CASE.excess(w)[kind].item() == pytest.approx((loss - bayes_risk(0.3)).item(), abs=1e-12)


def test_descent_is_that_of_automatic_differentiation() -> None:
    w = torch.zeros(2 * CASE.tokens, dtype=torch.float64)
    for _ in range(15):
        (slope,) = torch.autograd.grad(CASE.excess(w.requires_grad_())[0], w)
        w = w.detach() - 0.2 * slope
    assert (CASE.descend(0.2, 15)[-1] - w).abs().max() < 1e-12


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5, 0.6])
def test_up_to_one_half_the_margin_is_the_closed_form_and_beyond_it_is_another(alpha: float) -> None:
    case = noisy_instance(7, 2, 3, alpha)
    off = (case.hard_margin() - case.claimed_direction).norm()
    assert off < 1e-8 if alpha <= 0.5 else off > 0.01
