"""Training side by side: a run is the same by itself, measures are what they say, batches go where they should."""

import gc
import weakref
from dataclasses import replace

import pytest
import torch

from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic
from attention_theory.in_context_reasoning.model import Pass
from attention_theory.in_context_reasoning.places import ABREAST, Places
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences, violations
from attention_theory.in_context_reasoning.training import (
    BLOCK,
    MEASURES,
    Shared,
    epochs,
    estimated_gammas,
    fresh_batches,
    layers_of,
    mean_history,
    measures,
    side_by_side,
    train,
    train_on_sample,
)
from attention_theory.in_context_reasoning.variants import TABLE_1, VARIANTS, Training, stacks
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError

TASK = Task(14, 2, 3, 16, noisy=True)


def test_a_run_is_the_same_alone_and_in_company() -> None:
    runs = [Training(VARIANTS[name], noise, rate) for name in TABLE_1 for noise in (0.2, 0.8) for rate in (0.1, 0.5)]
    together = train(runs, TASK, 12, batch=8, evaluation=8, record_every=4)
    assert together.steps == [0, 4, 8, 12]
    for run in (runs[0], runs[21], runs[-1]):
        alone = train([run], TASK, 12, batch=8, evaluation=8, record_every=4)
        for measure in MEASURES:
            same = together.of(measure, run.variant.name, run.noise, run.rate)
            assert (alone.values[measure][:, 0] - same).abs().max() < 1e-8
    again = train(runs, TASK, 12, batch=8, evaluation=8, record_every=4)
    assert all(torch.equal(together.values[name], again.values[name]) for name in MEASURES)


def test_loss_on_labels_is_that_of_the_coming_step() -> None:
    """A batch that is the whole sample: its loss at every λ is the closed form at the sample's own share of τ."""
    runs = [Training(VARIANTS["Reparam-Linear-FA"], noise, 0.1) for noise in (0.2, 0.8)]
    history = train_on_sample(runs, TASK, 64, 2, batch=64, seed=1, evaluation=8, record_every=1)
    gamma = history.values["feed_forward_noise"] - history.values["attention_output"]
    scale = 0.1 * torch.arange(3, dtype=torch.float64)[:, None]
    total = (scale.exp() * (1 + gamma.exp()) + 12).log()
    expected = total - scale - gamma.sigmoid() * gamma  # σ(γ) is the share of τ
    assert (history.values["labels"] - expected).abs().max() < 1e-12


def test_an_epoch_visits_every_sentence_once() -> None:
    sentences = sample_sentences(TASK, 24, seed=0)
    labels = draw_labels(sentences, TASK, torch.tensor([0.3], dtype=torch.float64), seed=1)
    batches = epochs(Shared(sentences.tokens, TASK, torch.float64), labels, 8, seed=2)
    first, second = ([batches(3 * epoch + step) for step in range(3)] for epoch in range(2))
    for epoch in (first, second):
        seen = torch.cat([part.tokens for part, _ in epoch])
        assert sorted(map(tuple, seen.tolist())) == sorted(map(tuple, sentences.tokens.tolist()))
    assert not torch.equal(first[0][0].tokens, second[0][0].tokens)


def test_what_is_known_of_a_sample_is_known_of_the_sentences_picked() -> None:
    tokens, rows = sample_sentences(TASK, 600, seed=0).tokens, torch.tensor([500, 3, 3, *range(100, 500)])
    picked, alone = Shared(tokens, TASK, torch.float64).pick(rows), Shared(tokens[rows], TASK, torch.float64)
    assert torch.equal(picked.tokens, alone.tokens)
    for name in ("sums", "sizes", "scale", "last"):
        assert torch.equal(getattr(picked.kinds, name), getattr(alone.kinds, name)), name
    values = normal(ABREAST, 403, TASK.length, seed=1).float()  # so many models are summed in order
    sums = Places(tokens[rows], TASK.tokens).write(values)
    for shared in (picked, alone):
        parts = zip(shared.places, values.split([len(place) for place in shared.places], dim=1), strict=True)
        assert torch.equal(torch.cat([place.write(part) for place, part in parts], dim=1), sums)


@pytest.mark.parametrize("picked", [False, True])
def test_what_is_looked_up_is_freed_with_its_batch(picked: bool) -> None:
    """At once, and not when Python next looks for cycles: a step's look-ups are megabytes."""
    shared = Shared(sample_sentences(TASK, 8, seed=0).tokens, TASK, torch.float32)
    batch = shared.pick(torch.arange(8)) if picked else shared
    batch.places[0].write(torch.ones(ABREAST, 8, TASK.length))
    held = weakref.ref(batch.places[0])
    gc.disable()
    del batch, shared
    freed = held() is None
    gc.enable()
    assert freed


def test_fresh_batches_are_new_sentences_at_every_step() -> None:
    next_batch = fresh_batches(TASK, [0.5, 0.9], 8, 0)
    drawn = [next_batch(step) for step in range(2 * BLOCK)]
    assert len({sentences.tokens.numpy().tobytes() for sentences, _ in drawn}) == 2 * BLOCK
    for sentences, labels in drawn:
        assert sentences.tokens.shape == (8, TASK.length)
        assert not any(broken.any() for broken in violations(sentences, TASK).values())
        assert ((labels == sentences.output) | (labels == TASK.noise_token)).all()
    shares = torch.cat([labels for _, labels in drawn], dim=1).eq(TASK.noise_token).double().mean(dim=1)
    assert (shares - torch.tensor([0.5, 0.9])).abs().max() < 0.1


def test_gammas_come_from_the_labels() -> None:
    labels = torch.tensor([[13, 2, 2, 2], [13, 13, 13, 2]])
    gammas = estimated_gammas(labels, [0.2, 0.8], TASK)
    assert gammas == {0.2: odds(0.25), 0.8: odds(0.75)}


def test_unknown_runs_and_measures_are_refused() -> None:
    history = train([Training(VARIANTS["Reparam-Linear-FA"], 0.2, 0.1)], TASK, 1, batch=4, evaluation=4)
    with pytest.raises(ParameterError, match="measure"):
        history.of("loss", "Reparam-Linear-FA", 0.2, 0.1)
    with pytest.raises(ParameterError, match="run"):
        history.of("population", "Reparam-Linear-FA", 0.5, 0.1)


def test_a_mean_over_seeds_and_where_it_ends() -> None:
    run = [Training(VARIANTS["Origin-ReLU-FA"], 0.2, 0.1)]
    each = [train(run, TASK, 8, batch=4, seed=seed, evaluation=8, record_every=1) for seed in (0, 1)]
    together = mean_history(each)
    for measure in MEASURES:
        mean = (each[0].values[measure] + each[1].values[measure]) / 2
        assert (together.values[measure] - mean).abs().max() < 1e-15
    last = together.values["population"][-2:, 0].mean().item()  # nine records: the last quarter is two
    assert together.end("population", "Origin-ReLU-FA", 0.2, 0.1) == pytest.approx(last, abs=1e-15)


def test_a_batch_in_pieces_is_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """In both arithmetics, at a loss small enough that the pieces have scales far apart in the log domain."""
    runs = [Training(VARIANTS[name], 0.0, 0.5) for name in ("Origin-ReLU-FA", "Reparam-Linear-W-FA")]
    arithmetics: tuple[Arithmetic, Arithmetic] = ("subtraction", "log-domain")
    task = Task(14, 2, 3, 16)
    for arithmetic in arithmetics:
        whole = train(runs, task, 30, batch=24, evaluation=16, arithmetic=arithmetic)
        with monkeypatch.context() as patch:
            patch.setattr("attention_theory.in_context_reasoning.training.CHUNK", 7)
            pieces = train(runs, task, 30, batch=24, evaluation=16, arithmetic=arithmetic)
        for measure in MEASURES:
            assert (whole.values[measure] - pieces.values[measure]).abs().max() < 1e-8


def test_runs_in_both_arithmetics_are_the_runs_of_each() -> None:
    """Side by side on the same sentences, the scales, W and all matrices: as if each arithmetic were trained alone."""
    arithmetics: tuple[Arithmetic, Arithmetic] = ("log-domain", "subtraction")
    for noise in (0.0, 0.2):
        task = Task(14, 2, 3, 16, noisy=noise > 0)
        names = ("Reparam-Softmax-FA", "Reparam-Linear-W-FA", "Origin-Linear-FA")
        runs = [Training(VARIANTS[name], noise, rate) for name in names for rate in (0.1, 0.5)]
        both = [replace(run, arithmetic=arithmetic) for run in runs for arithmetic in arithmetics]
        together = train(both, task, 12, batch=8, evaluation=8)
        for arithmetic in arithmetics:
            alone = train(runs, task, 12, batch=8, evaluation=8, arithmetic=arithmetic)
            mine = together.with_arithmetic(arithmetic)
            for run in runs:
                for measure in MEASURES:
                    which = (measure, run.variant.name, noise, run.rate)
                    assert (mine.of(*which) - alone.of(*which)).abs().max() < 1e-8, which
        with pytest.raises(ParameterError, match="run"):
            together.of("population", "Origin-Linear-FA", noise, 0.1)


def test_histories_side_by_side() -> None:
    parts = [
        train([Training(VARIANTS["Reparam-Linear-FA"], noise, 0.1)], TASK, 4, batch=4, evaluation=8)
        for noise in (0.2, 0.8)
    ]
    together = side_by_side(parts)
    for noise, part in zip((0.2, 0.8), parts, strict=True):
        of_part = part.of("unseen", "Reparam-Linear-FA", noise, 0.1)
        assert torch.equal(together.of("unseen", "Reparam-Linear-FA", noise, 0.1), of_part)
    longer = train(parts[0].runs, TASK, 5, batch=4, evaluation=8)
    with pytest.raises(ParameterError, match="steps"):
        side_by_side([parts[0], longer])


@pytest.mark.parametrize("noisy", [True, False])
def test_measures_are_what_their_names_say(noisy: bool) -> None:
    """Two runs of random logits, every measure sentence by sentence."""
    task, count = replace(TASK, noisy=noisy), 7
    runs = [Training(VARIANTS["Reparam-Linear-FA"], noise, 0.1) for noise in ((0.2, 0.7) if noisy else (0.0, 0.0))]
    tau = task.noise_token
    held_out = [sample_sentences(task, count, 1), sample_sentences(task, count, 2, unseen=True)]
    passes = []
    for seed, sentences in enumerate(held_out):
        attention, feed_forward = normal(2, 2, count, task.tokens, seed=seed)
        for place in range(3):  # some sentences have their largest logits where they should be
            attention[0, place, sentences.output[place]] += 9
            feed_forward[0, place, tau] += 9 * (place != 1)
        nothing = attention[..., :0]
        passes.append(Pass(nothing, nothing, nothing, attention, feed_forward))
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


def test_of_a_pass_over_stacks_the_layers_logits_alone_are_kept() -> None:
    names = ("Reparam-Linear-FA", "Origin-Softmax-FA")
    group = stacks([Training(VARIANTS[name], 0.2, 0.1) for name in names], TASK)
    done = layers_of(Shared(sample_sentences(TASK, 4, 0).tokens, TASK, torch.float64), group)
    assert done.attention.shape == done.feed_forward.shape == (2, 4, TASK.tokens)
    assert done.scores.numel() == done.powers.numel() == done.attended.numel() == 0
