import dataclasses
import math

import numpy as np
import pytest

from attention_theory.data.token_files import Corpus, Tokens
from attention_theory.hyper_attention.language.language_model import TABLE_1, LanguageModel
from attention_theory.hyper_attention.language.pretraining import (
    Course,
    Training,
    evaluate,
    gap,
    pretrain,
    train_table,
    unigram_loss,
)
from attention_theory.validation import ParameterError

SMALL = Training(
    steps=60, batch=8, window=8, rate=1e-2, warm_up=6, micro_batch=8, evaluate_every=20, validation_windows=10
)
#: Every token tells the next: 0, 1, 2, 3, 4, 0, ...
TOKENS = Tokens([np.arange(400, dtype=np.uint16) % 5], 5)
CYCLE = Corpus(TOKENS, TOKENS, "a cycle of five tokens")


def model(name: str = "Self-Attention", seed: int = 0) -> LanguageModel:
    return LanguageModel(5, 8, 12, TABLE_1[name], seed=seed)


@pytest.mark.parametrize("name", TABLE_1)
def test_a_cycle_is_learned(name: str) -> None:
    course = pretrain(model(name), CYCLE, SMALL, seed=0)
    assert course.steps == [0, 20, 40, 60]
    assert course.losses[0] > 1.5
    assert course.perplexity < 1.2
    assert unigram_loss(CYCLE) == pytest.approx(math.log(5), abs=1e-6)


def test_micro_batches_change_nothing_but_rounding_and_seeds_repeat() -> None:
    whole = pretrain(model(), CYCLE, SMALL, seed=0)
    again = pretrain(model(), CYCLE, SMALL, seed=0)
    parts = pretrain(model(), CYCLE, dataclasses.replace(SMALL, micro_batch=3), seed=0)
    assert whole.losses == again.losses
    assert parts.losses == pytest.approx(whole.losses, abs=1e-3)


def test_schedule_rises_then_falls_to_a_tenth() -> None:
    rates = [SMALL.rate_at(step) for step in range(SMALL.steps)]
    assert rates[0] == pytest.approx(1e-2 / 6)
    assert max(rates) == rates[5] == rates[6] == 1e-2
    assert rates[-1] == pytest.approx(1e-3)
    assert rates[6:] == sorted(rates[6:], reverse=True)


def test_evaluation_does_not_depend_on_the_micro_batch() -> None:
    inputs, targets = TOKENS.every_window(8, 10)
    assert evaluate(model(), inputs, targets, 3) == pytest.approx(evaluate(model(), inputs, targets, 10), abs=1e-6)


def test_a_table_is_every_model_from_every_seed() -> None:
    names = ("Self-Attention", "HyperAttention")
    brief = dataclasses.replace(SMALL, steps=6)
    table = train_table({name: TABLE_1[name] for name in names}, 12, 1, CYCLE, brief, [0, 1])
    alone = pretrain(model("HyperAttention", seed=1), CYCLE, brief, seed=1)
    assert table["HyperAttention"][1].losses == alone.losses
    assert [len(courses) for courses in table.values()] == [2, 2]


def ends(*losses: float) -> list[Course]:
    return [Course([0], [loss]) for loss in losses]


def test_a_gap_is_judged_by_the_spread_of_the_pairs() -> None:
    # far apart from seed to seed, yet 0.1 better from each: pairs see it
    clear = gap(ends(1.0, 2.0, 3.0), ends(1.1, 2.11, 3.09))
    assert clear.mean == pytest.approx(-0.1)
    assert clear.half_width == pytest.approx(4.302653 * 0.01 / math.sqrt(3))
    assert clear.is_beyond_noise
    assert not gap(ends(1.0, 2.0, 3.0), ends(2.0, 1.0, 3.1)).is_beyond_noise
    with pytest.raises(ParameterError, match="seeds"):
        _ = gap(ends(1.0), ends(2.0)).half_width


def test_the_interval_is_that_of_a_paired_t_test() -> None:
    from scipy.stats import ttest_rel

    ours, theirs = [1.0, 1.3, 1.1, 0.9], [1.2, 1.25, 1.4, 1.3]
    interval = ttest_rel(ours, theirs).confidence_interval(0.95)
    one = gap(ends(*ours), ends(*theirs))
    assert [one.mean - one.half_width, one.mean + one.half_width] == pytest.approx([interval.low, interval.high])


def test_bad_settings_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="warm_up"):
        dataclasses.replace(SMALL, warm_up=61)
    with pytest.raises(ParameterError, match="micro_batch"):
        dataclasses.replace(SMALL, micro_batch=9)
