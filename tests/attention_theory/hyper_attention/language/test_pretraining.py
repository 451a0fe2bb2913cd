import dataclasses
import math

import numpy as np
import pytest
import torch

from attention_theory.data.token_files import Corpus, _Tokens
from attention_theory.hyper_attention.language import pretraining
from attention_theory.hyper_attention.language._stacked import StackedModels
from attention_theory.hyper_attention.language.language_model import BASELINES, TABLE_1, LanguageModel
from attention_theory.hyper_attention.language.pretraining import (
    Course,
    Training,
    _pretrain,
    bigram_loss,
    unigram_loss,
)
from attention_theory.randomness import generator

SMALL = Training(
    steps=60, batch=8, window=8, lr=1e-2, warm_up=6, micro_batch=8, evaluate_every=20, validation_windows=10
)
#: Every token tells the next: 0, 1, 2, 3, 4, 0, ...
TOKENS = _Tokens([np.arange(400, dtype=np.uint16) % 5], 5)
CYCLE = Corpus(TOKENS, TOKENS, "a cycle of five tokens")


def models(name: str = "Self-Attention", seeds: tuple[int, ...] = (0,)) -> list[LanguageModel]:
    return [LanguageModel(5, 8, 12, {**BASELINES, **TABLE_1}[name], seed=seed) for seed in seeds]


def pretrain_kind(some: list[LanguageModel], corpus: Corpus, training: Training, seeds: list[int]) -> list[Course]:
    (courses,) = _pretrain([some], corpus, training, seeds)
    return courses


@pytest.mark.parametrize("name", [*BASELINES, *TABLE_1])
def test_a_cycle_is_learned(name: str) -> None:
    (course,) = pretrain_kind(models(name), CYCLE, SMALL, [0])
    assert course.steps == [0, 20, 40, 60]
    assert course.losses[0] > 1.5
    assert course.perplexity < 1.2
    assert len(course.by_place) == 8
    assert sum(course.by_place) / 8 == pytest.approx(course.losses[-1], abs=1e-6)
    assert unigram_loss(CYCLE) == pytest.approx(math.log(5), abs=1e-6)
    assert bigram_loss(CYCLE) < 0.01


def test_micro_batches_change_nothing_but_rounding_and_seeds_repeat() -> None:
    brief = dataclasses.replace(SMALL, steps=20)
    (whole,) = pretrain_kind(models(), CYCLE, brief, [0])
    (again,) = pretrain_kind(models(), CYCLE, brief, [0])
    (parts,) = pretrain_kind(models(), CYCLE, dataclasses.replace(brief, micro_batch=3), [0])
    assert whole.losses == again.losses
    assert parts.losses == pytest.approx(whole.losses, abs=1e-3)


def test_kinds_and_seeds_trained_side_by_side_are_those_trained_alone() -> None:
    names, brief = [*BASELINES, *TABLE_1], dataclasses.replace(SMALL, steps=20)
    together = _pretrain([models(name, (0, 1)) for name in names], CYCLE, brief, [0, 1])
    for name, courses in zip(names, together, strict=True):
        for seed, ours in enumerate(courses):
            (alone,) = pretrain_kind(models(name, (seed,)), CYCLE, brief, [seed])
            assert ours.losses == pytest.approx(alone.losses, abs=1e-3)
            assert ours.by_place == pytest.approx(alone.by_place, abs=1e-3)
    assert abs(courses[0].losses[1] - courses[1].losses[1]) > 1e-3


def test_gradients_are_clipped_model_by_model() -> None:
    # one kind has gradients a thousand times as long as the other: neither norm enters the other's factor
    kinds = [models("Self-Attention"), models("HyperAttention")]
    stack = StackedModels(kinds)
    for value in stack.parameters():
        value.grad = torch.zeros_like(value)
    for kind, scale in enumerate((1000.0, 0.001)):
        for value, place in stack.of_kind(kind):
            value.grad[place] = scale  # type: ignore[index]
    pretraining._clip(stack, 1.0)
    for kind, wanted in ((0, 1.0), (1, 0.001 * sum(value.numel() for value in kinds[1][0].parameters()) ** 0.5)):
        squared = [value.grad[place].square().sum() for value, place in stack.of_kind(kind)]  # type: ignore[index]
        assert float(sum(squared)) ** 0.5 == pytest.approx(wanted, rel=1e-4)


def test_a_step_is_that_of_adamw_on_a_clipped_gradient() -> None:
    one = dataclasses.replace(SMALL, steps=3, warm_up=0, clip=0.1, weight_decay=0.5)
    (course,) = pretrain_kind(models(), CYCLE, one, [3])
    (model,) = models()
    decayed = [value for value in model.parameters() if value.ndim > 1]
    groups: list[dict] = [
        {"params": decayed},
        {"params": [v for v in model.parameters() if v.ndim < 2], "weight_decay": 0.0},
    ]
    optimiser, draw = torch.optim.AdamW(groups, lr=1e-2, betas=one.betas, weight_decay=0.5), generator(3)
    for step in range(3):
        for group in optimiser.param_groups:
            group["lr"] = one.rate_at(step)
        inputs, targets = TOKENS.windows(8, 8, draw)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimiser.step()
    inputs, targets = TOKENS.every_window(8, 10)
    loss = torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    assert course.losses[-1] == pytest.approx(loss.item(), abs=1e-5)


def test_counted_tables() -> None:
    tokens = _Tokens([np.array([0, 1, 0, 1, 0, 2], dtype=np.uint16)], 3)
    corpus = Corpus(tokens, tokens, "six tokens")
    # 0 was followed by 1, 1, 2 and 1 by 0, 0, each with a share of one more for every token
    share = [3 / 6, 3 / 5, 3 / 6, 3 / 5, 2 / 6]
    assert bigram_loss(corpus, pseudo_count=1.0) == pytest.approx(-sum(map(math.log, share)) / 5)


def test_schedule_rises_then_falls_to_a_tenth() -> None:
    rates = [SMALL.rate_at(step) for step in range(SMALL.steps)]
    assert rates[0] == pytest.approx(1e-2 / 6)
    assert max(rates) == rates[5] == rates[6] == 1e-2
    assert rates[-1] == pytest.approx(1e-3)
    assert rates[6:] == sorted(rates[6:], reverse=True)
