"""Histories read by hand, and measures sentence by sentence."""

import math
from dataclasses import replace

import pytest
import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk
from attention_theory.in_context_reasoning.history import MEASURES, History, measures
from attention_theory.in_context_reasoning.model import LayerLogits
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError

TASK = Task(14, 2, 3, 16, noisy=True)


def history(*curves: list[float]) -> History:
    """A run of Origin-Linear-FA at α = 0.8 whose two losses are given."""
    values = {
        name: torch.tensor(curve, dtype=torch.float64)[:, None]
        for name, curve in zip(("population", "unseen"), curves, strict=True)
    }
    return History(
        [TrainingRun(VARIANTS["Origin-Linear-FA"], 0.8, 0.1)], list(range(0, 10 * len(curves[0]), 10)), values
    )


def test_growth_looks_at_the_last_half() -> None:
    run = history([1.0] * 8, [9.0, 7.0, 5.0, 3.0, 1.0, 1.5, 2.0, 2.5])
    assert run.growth("unseen", "Origin-Linear-FA", 0.8, 0.1) == pytest.approx(0.05)
    assert run.growth("population", "Origin-Linear-FA", 0.8, 0.1) == 0
    with pytest.raises(ParameterError, match="run"):
        run.growth("unseen", "Origin-Linear-FA", 0.2, 0.1)


def test_the_share_that_is_left_is_one_on_the_plateau_and_zero_at_the_target() -> None:
    plateau = bayes_risk(0.8) + 0.2 * math.log(4)
    run = history([plateau] * 8, [bayes_risk(0.8)] * 8)
    assert run.fraction_left("population", "Origin-Linear-FA", 0.8, 0.1) == pytest.approx(1)
    assert run.fraction_left("unseen", "Origin-Linear-FA", 0.8, 0.1) == pytest.approx(0)


def test_steps_to_a_loss() -> None:
    falling = history([4.0, 2.0, 1.0, 0.5, 1.5], [0.0] * 5)
    assert falling.steps_to(1.0, "Origin-Linear-FA", 0.8, 0.1) == 20
    assert falling.steps_to(0.1, "Origin-Linear-FA", 0.8, 0.1) == 41


def test_the_end_is_the_mean_over_the_last_quarter() -> None:
    run = history([8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 3.0, 1.0], [0.0] * 8)
    assert run.end("population", "Origin-Linear-FA", 0.8, 0.1) == 2


@pytest.mark.parametrize("noisy", [True, False])
def test_measures_are_what_their_names_say(noisy: bool) -> None:
    """Two runs of random logits, every measure sentence by sentence."""
    task, count = replace(TASK, noisy=noisy), 7
    runs = [TrainingRun(VARIANTS["Reparam-Linear-FA"], noise, 0.1) for noise in ((0.2, 0.7) if noisy else (0.0, 0.0))]
    tau = task.noise_token
    held_out = [sample_sentences(task, count, 1), sample_sentences(task, count, 2, unseen=True)]
    passes = []
    for seed, sentences in enumerate(held_out):
        attention, feed_forward = normal(2, 2, count, task.tokens, seed=seed)
        for place in range(3):  # some sentences have their largest logits where they should be
            attention[0, place, sentences.output[place]] += 9
            feed_forward[0, place, tau] += 9 * (place != 1)
        passes.append(LayerLogits(attention, feed_forward))
    coming, labels = normal(2, 5, task.tokens, seed=9), torch.randint(task.tokens, (2, 5), generator=generator(3))
    found = measures(runs, task, held_out, passes, coming, labels)
    seen, unseen = passes
    loss = torch.nn.functional.cross_entropy
    for run in range(2):
        alpha = runs[run].noise
        wanted: dict[str, list[float]] = {name: [] for name in MEASURES}
        for one in range(count):
            trained, other = int(held_out[0].output[one]), int(held_out[1].output[one])
            for name, done, word in (("population", seen, trained), ("unseen", unseen, other)):
                logits = (done.attention + done.feed_forward)[run, one]
                at = [loss(logits, torch.tensor(target)).item() for target in (word, tau % task.tokens)]
                wanted[name].append((1 - alpha) * at[0] + alpha * at[1])
            probable = (unseen.attention + unseen.feed_forward)[run, one].softmax(dim=0)
            wanted["p_output"].append(probable[other].item())
            wanted["p_noise"].append(probable[tau].item() if noisy else 0.0)
            words, feed = seen.attention[run, one].tolist(), seen.feed_forward[run, one].tolist()
            wanted["attention_output"].append(words[trained])
            wanted["attention_largest"].append(max(words))
            wanted["feed_forward_noise"].append(feed[tau])
            wanted["feed_forward_largest"].append(max(feed))
            hits = words.index(max(words)) == trained, feed.index(max(feed)) == tau % task.tokens
            wanted["attention_hits"].append(float(hits[0]))
            wanted["feed_forward_hits"].append(float(feed.index(max(feed)) == tau))
            wanted["separated"].append(float(all(hits)) if noisy else 0.0)
        wanted["labels"] = [loss(coming[run, one], labels[run, one]).item() for one in range(5)]
        for name, values in wanted.items():
            assert found[name][run].item() == pytest.approx(sum(values) / len(values), abs=1e-12), name
    assert list(measures(runs, task, held_out, passes, None, labels, ["unseen", "p_noise"])) == ["unseen", "p_noise"]
