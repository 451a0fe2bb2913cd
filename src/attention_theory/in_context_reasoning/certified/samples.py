"""Certificates about Algorithm 1 on M sentences: its path, its estimate and its layers, over all labels."""

import math
from fractions import Fraction

import torch
from jaxtyping import Bool
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, algebra, balls, certify, exhaust, smt
from attention_theory.certificates.algebra import sympy
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.certificates.smt import z3
from attention_theory.in_context_reasoning.certified.enumeration import run_at
from attention_theory.in_context_reasoning.certified.losses import ask_formula
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.descent import algorithm_1
from attention_theory.in_context_reasoning.finite_sample import (
    hoeffding_radius,
    mean_estimates,
    separation_time,
)
from attention_theory.in_context_reasoning.task import Sentences, Task
from attention_theory.validation import Form, refuse_unless, require

#: A trigger, two outputs, two neutral words and τ.
SMALL = Task(6, 1, 2, 8, noisy=True)
#: Sentences with one, two and three bigrams (q, y), where y is 1, and without τ.
BY_COUNT = torch.tensor([[3, 3, 3, 3, 0, 1, 3, 0], [3, 3, 0, 1, 0, 1, 4, 0], [0, 1, 0, 1, 0, 1, 4, 0]])


def sentences_by_count() -> Sentences:
    """:data:`BY_COUNT` as sentences."""
    return Sentences(BY_COUNT, torch.zeros(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64))


def certify_path(samples: int, steps: int) -> Certificate:
    """Algorithm 1: ``λ_t = ηt`` on every data set, and the loss is ``mean(-Cλ + ln(e^{Cλ}/(1 - α̂) + N - 1)) - α̂γ̂``.

    A sentence has one to three bigrams and one of the two labels. Rates are powers of 2, so that no step is rounded.

    Raises:
        ParameterError: fewer than two sentences, or no step.
    """
    require(samples=(samples, 2, None), steps=(steps, 1, None))
    answers = [_ask_path(samples, steps, "correct"), ask_formula()]

    def run(values: Counterexample) -> tuple[str, bool]:
        scales = algorithm_1(*_data_of(samples, values), SMALL, _rate(values["rate"]), steps, form="printed").scales
        walked = steps * _rate(values["rate"])
        return f"λ = {scales[-1].item():.4f} after {steps} plain steps, not {walked}", scales[-1].item() != walked

    control = Control.of("plain steps, as the listing has them", _ask_path(samples, steps, "printed"), run)
    return certify(
        "Algorithm 1 walks λ_t = η t, and its loss is the corrected one.",
        f"all data sets of {samples} of three sentences, of one, two and three bigrams, with both labels; {steps} "
        "steps, η = 1, 1/2, 1/4; the loss in closed form for all λ, γ, C, α and N",
        answers,
        control,
    )


def certify_mean(samples: int, level: Fraction) -> Certificate:
    """Section 4.2: the mean of α̂ over the labels is α; that of γ̂, where it is finite, is not γ.

    Raises:
        ParameterError: fewer than two labels.
    """
    require(samples=(samples, 2, None))
    a, finite = sympy.Symbol("alpha"), range(1, samples)
    terms = (math.comb(samples, k) * a**k * (1 - a) ** (samples - k) * sympy.Rational(k, samples) for k in finite)
    weights = [chance_of(k, samples, level) for k in finite]
    logs = [balls.ball(Fraction(k, samples - k)).log() for k in finite]
    average = sum((balls.ball(w) * log for w, log in zip(weights, logs, strict=True)), balls.ball(0))
    bias = abs(average / balls.ball(sum(weights)) - balls.ball(level / (1 - level)).log())

    def run(values: Counterexample) -> tuple[str, bool]:
        off = mean_estimates(samples, float(level))[1] - odds(float(level))
        agrees = abs(abs(off) - float(balls.flint.arb(values["value"]))) < 1e-6
        return f"the mean of γ̂ is off by {off:.4f}", agrees and abs(off) > 0.01

    return certify(
        "The mean of α̂ is α.",
        f"every α, M = {samples} labels",
        algebra.identity(sum(terms) + a**samples, a, "the mean of k/M over the binomial distribution"),
        Control.of(f"γ̂ in place of α̂, at α = {level}", balls.below(bias, 0.01, "the distance of its mean from γ"), run),
    )


def certify_separation(samples: int, level: Fraction, delta: Fraction, rate: float) -> Certificate:
    """Theorem 4.5: from the waiting time on the layers are separated, on all but a fraction δ of the label sequences.

    Every number of labels τ with ``|α̂ - α| < ε`` is tried, and the probability of the others is summed exactly. Later,
    or with more bigrams, logits only grow.

    Raises:
        ParameterError: as :func:`.separation_time` and :func:`.hoeffding_radius`.
    """
    radius = hoeffding_radius(samples, float(delta))
    steps = math.ceil(separation_time(float(level), radius, rate))
    early = steps // 2 if 2 * level < 1 else 0  # from 1/2 on, the first step is enough
    good = [k for k in range(samples + 1) if abs(Fraction(k, samples) - level) < Fraction(radius)]
    refuse_unless(good[0] > 0 and good[-1] < samples, "level must be so far from 0 and 1 that both labels occur")

    def ask(time: int) -> Answer:
        words = f"separated after {time} steps with {good[0]} + k labels τ among {samples}"
        return exhaust.every({"k": len(good)}, lambda batch: _separated_at(batch, good, samples, rate * time), words)

    def run(values: Counterexample) -> tuple[str, bool]:
        labels = good[values["k"]]
        right = bool(_separated_at({"k": torch.tensor([values["k"]])}, good, samples, rate * early))
        return f"{labels} labels τ: separated after {early} steps: {right}", not right

    chance = 1 - sum(chance_of(k, samples, level) for k in good)
    gamma, first, scale, count = z3.Reals("gamma first scale count")
    later = smt.prove([gamma + first > 0, first > 0, scale >= first, count >= 1], gamma + count * scale > 0)
    return certify(
        "With a probability of at least 1 - δ the layers are separated from the waiting time on.",
        f"all 2^{samples} label sequences, α = {level}, δ = {delta}, η = {rate}, every t from {steps} on, every C >= 1",
        [ask(steps), later, balls.below(balls.ball(chance), delta, "the probability of other numbers of labels τ")],
        Control.of(f"{early} steps, which are too few", ask(early), run),
    )


def chance_of(k: int, samples: int, level: Fraction) -> Fraction:
    """The exact probability of k labels τ among so many."""
    return math.comb(samples, k) * level**k * (1 - level) ** (samples - k)


def _separated_at(batch: Batch, good: list[int], samples: int, scale: float) -> Bool[Tensor, " members"]:
    """Test whether the transformer's layers are separated on sentences of all counts."""
    sentences = sentences_by_count()
    gammas = [odds(good[k] / samples) for k in batch["k"].tolist()]
    runs = [run_at(SMALL, sentences.tokens, [scale], gamma) for gamma in gammas]
    return torch.stack([done.separated(sentences.output, SMALL.noise_token).all() for done in runs])


def _ask_path(samples: int, steps: int, form: Form) -> Answer:
    """Ask whether λ_t = ηt for all data sets of so many sentences that have both labels."""
    sizes = {"rate": 3} | {f"count_{i}": 3 for i in range(samples)} | {f"noise_{i}": 2 for i in range(samples)}
    times = torch.arange(steps + 1, dtype=torch.float64)

    def holds(batch: Batch) -> Bool[Tensor, " members"]:
        right = []
        for member in range(len(batch["rate"])):
            values = {name: int(entries[member]) for name, entries in batch.items()}
            sentences, labels = _data_of(samples, values)
            rate, noisy = _rate(values["rate"]), int((labels == SMALL.noise_token).sum())
            refused = noisy in (0, samples)
            right.append(
                refused or torch.equal(algorithm_1(sentences, labels, SMALL, rate, steps, form).scales, rate * times)
            )
        return torch.tensor(right)

    return exhaust.every(sizes, holds, f"λ_t = η t for t <= {steps}, {form} form, where both labels occur")


def _data_of(samples: int, values: Counterexample) -> tuple[Sentences, Tensor]:
    """The data set of a member: sentences by their counts, and their labels."""
    sentences = sentences_by_count().pick(torch.tensor([values[f"count_{i}"] for i in range(samples)]))
    noise = torch.tensor([bool(values[f"noise_{i}"]) for i in range(samples)])
    return sentences, torch.where(noise, SMALL.noise_token, sentences.output)


def _rate(number: int) -> float:
    return 0.5**number
