"""Certificates about the weights of Lemmas 3.1 and 4.1: every sentence of small tasks, and every λ and γ.

Scores of linear attention are of degree 1 in λ, ξ_A too, and ξ_F is of degree 1 in λ and in γ each. So it is enough to
run the transformer at λ = 0, 1 and γ = 0, 1, where float64 is exact. For λ >= 0 no score is negative, and ReLU is λ
times what it is at λ = 1.
"""

import math
from collections.abc import Collection

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, exhaust, smt
from attention_theory.certificates.algebra import sympy
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.certificates.smt import term_of, z3
from attention_theory.in_context_reasoning.certified.enumeration import (
    LINEAR,
    NOISE_AFTER_TRIGGER,
    NOTHING_ELSE,
    RELU,
    ask_sentences,
    run_at,
    sentence_at,
)
from attention_theory.in_context_reasoning.certified.losses import OTHERS, RANGES, TERMS, X, m
from attention_theory.in_context_reasoning.certified.noiseless import noiseless_formula
from attention_theory.in_context_reasoning.certified.noisy import ask_excess
from attention_theory.in_context_reasoning.closed_form import noiseless_loss
from attention_theory.in_context_reasoning.descent import descend_noiseless
from attention_theory.in_context_reasoning.embedding import Embedding, random_units
from attention_theory.in_context_reasoning.task import Sentences, Task, bigram_count, recover_output
from attention_theory.validation import refuse_unless


def certify_scores(task: Task) -> Certificate:
    """Lemma A.1: position h has the score ``λ_q 1{z_{h-1} = q}`` in a sentence that ends in the trigger q.

    A score depends on the word at h, on the one before, and on the last two words; so four words are enough for
    sentences of every length.

    Raises:
        ParameterError: a noisy task.
    """
    refuse_unless(not task.noisy, "task must be noiseless, got a noisy one")
    sizes = dict.fromkeys(("before", "word", "before_last"), task.tokens) | dict.fromkeys(("last", "k"), task.triggers)

    def scores(batch: Batch, codes: Embedding | None) -> Float[Tensor, " members"]:
        tokens = torch.stack([batch[name] for name in ("before", "word", "before_last", "last")], dim=1)
        of_terms = [
            run_at(task, tokens, _unit(k, task.triggers), codes=codes).scores[:, 1] for k in range(task.triggers)
        ]
        return torch.stack(of_terms).gather(0, batch["k"][None])[0]

    def wanted(batch: Batch) -> Float[Tensor, " members"]:
        return ((batch["before"] == batch["last"]) & (batch["last"] == batch["k"])).double()

    def run(values: Counterexample) -> tuple[str, bool]:
        batch = {name: torch.tensor([value]) for name, value in values.items()}
        score, target = scores(batch, leaky).item(), wanted(batch).item()
        return f"score {score:.3f}, not {target}", score != target

    leaky = random_units(task.tokens, 3 * task.tokens // 2, 0)
    words = "the score of the term λ_k is 1{before = last = k} for λ_k = 1"
    control = Control.of(
        "codes in 3N/2 dimensions, which are not orthonormal",
        exhaust.every(sizes, lambda batch: scores(batch, leaky) == wanted(batch), words),
        run,
    )
    return certify(
        "A position from the second on has the score λ_q if the word before it is the trigger q, and 0 otherwise.",
        f"every λ, all sentences of every length over {task.tokens} words, {task.triggers} of them triggers",
        exhaust.every(sizes, lambda batch: scores(batch, None) == wanted(batch), words),
        control,
    )


def certify_logits(task: Task) -> Certificate:
    """Lemma 3.1: y has the logit ``λ_q C``, all other words 0, with linear and ReLU attention; and the loss follows.

    Raises:
        ParameterError: a noisy task.
    """
    refuse_unless(not task.noisy, "task must be noiseless, got a noisy one")
    sure = sympy.exp(-noiseless_formula())
    words = "the logits of the term λ_k are C 1{j = y} 1{k = q} for λ_k = 1"
    control = Control.of(
        "another word may follow the trigger", _ask_logits(task, words, [NOTHING_ELSE]), lambda at: _rival(task, at)
    )
    return certify(
        "The logits of the construction are λ_q C at y and 0 elsewhere, and the loss is -ln of the softmax at y.",
        f"every λ >= 0, N and C; the logits for all sentences of {task.length} of {task.tokens} words, "
        f"{task.triggers} of them triggers and {task.outputs} outputs",
        [_ask_logits(task, words), algebra.identity(sure, X / (X + m), "e^{-L} = e^{Cλ}/(e^{Cλ} + N - 1)")],
        control,
    )


def certify_unseen(task: Task) -> Certificate:
    """Theorem 3.3: an unseen output has at least ``1/(1 + (N - 1) e^{-λ})``, and one half from ``λ = ln(N - 1)`` on.

    With ``λ = ηt/√|Q|`` that is ``t >= √|Q| ln(N - 1)/η``.

    Raises:
        ParameterError: a noisy task.
    """
    refuse_unless(not task.noisy, "task must be noiseless, got a noisy one")
    probability = term_of(sympy.cancel(sympy.exp(-noiseless_formula())), TERMS)
    others, y = TERMS["m"], TERMS["Y"]

    def run(values: Counterexample) -> tuple[str, bool]:
        time = 2 * math.log(float(values["Y"]))
        path = descend_noiseless(torch.ones(4, 1, dtype=torch.float64), time, 1, OTHERS)[-1]
        chance = math.exp(-noiseless_loss(path[0], torch.ones_like(path[0]), OTHERS).item())
        bound = 1 / (1 + OTHERS * math.exp(-time))
        return f"four triggers, η t = {time:.3f}: probability {chance:.4f}, below {bound:.4f}", chance < bound

    control = Control.of(
        "the paper's η t for λ, where four triggers have λ = η t/2 and so η t = 2 λ",
        smt.prove([*RANGES, others == OTHERS, y > 1, TERMS["X"] == y], probability >= 1 / (1 + others / (y * y))),
        run,
    )
    return certify(
        "An unseen output has the probability 1/(1 + (N - 1) exp(-λ)) at least, and 1/2 once λ >= ln(N - 1).",
        f"every C >= 1, λ >= 0 and N >= 2; the logits for all sentences of {task.length} of {task.tokens} words",
        [
            _ask_logits(task, "logits are those of Lemma 3.1 where the output is a neutral word", unseen=True),
            smt.prove(RANGES, probability >= 1 / (1 + others / y), "the bound, Y = e^λ"),
            smt.prove([*RANGES, y >= others], probability >= z3.Q(1, 2), "one half from Y = N - 1 on"),
        ],
        control,
    )


def certify_noisy_logits(task: Task) -> Certificate:
    """Lemma 4.1: attention has ``λ C`` at y, the feed-forward layer ``γ + λ C`` at τ; the loss goes to the Bayes risk.

    Raises:
        ParameterError: a noiseless task.
    """
    refuse_unless(task.noisy, "task must be noisy, got a noiseless one")

    def holds(sentences: Sentences) -> Bool[Tensor, " sentences"]:
        right = [_noisy_logits_at(task, sentences, scale, gamma) for scale in (0.0, 1.0) for gamma in (0.0, 1.0)]
        return torch.stack(right).all(dim=0)

    def run(values: Counterexample) -> tuple[str, bool]:
        sentences = sentence_at(task, values)
        logit = run_at(task, sentences.tokens, [1.0]).attention[0, task.noise_token].item()
        return f"{sentences.tokens[0].tolist()}: attention gives τ the logit {logit} λ, not 0", logit != 0

    words = "the logits of both layers at λ and γ of 0 and 1, for linear and ReLU attention"
    control = Control.of("τ may follow any word", ask_sentences(task, holds, words, [NOISE_AFTER_TRIGGER]), run)
    return certify(
        "The layers have the logits λ C at y and γ + λ C at τ; the excess of the loss is at most (N - 1) exp(-λ).",
        f"every λ >= 0, γ, α and N; the logits for all sentences of {task.length} of {task.tokens} words",
        [ask_sentences(task, holds, words), *ask_excess("excess of the loss over the Bayes risk, α̂ = α")],
        control,
    )


def certify_signs(task: Task) -> Certificate:
    """Appendix A.1: no score is negative for λ >= 0, so only what an activation does on the right matters.

    Raises:
        ParameterError: a noiseless task, whose scores have no term of the other sign.
    """
    refuse_unless(task.noisy, "task must be noisy, got a noiseless one")

    def holds(sentences: Sentences) -> Bool[Tensor, " sentences"]:
        return (run_at(task, sentences.tokens, [1.0]).scores >= 0).all(dim=1)

    def run(values: Counterexample) -> tuple[str, bool]:
        sentences = sentence_at(task, values)
        linear, relu = (run_at(task, sentences.tokens, [1.0], 0.0, kind).attention[0] for kind in (LINEAR, RELU))
        return f"linear {linear.tolist()}, ReLU {relu.tolist()}", not torch.equal(linear, relu)

    words = "no score is negative at λ = 1"
    control = Control.of("τ may follow any word", ask_sentences(task, holds, words, [NOISE_AFTER_TRIGGER]), run)
    return certify(
        "No score is negative, so an activation that is c x for x >= 0 gives linear attention with c λ.",
        f"every λ >= 0; all noisy sentences of {task.length} of {task.tokens} words",
        ask_sentences(task, holds, words),
        control,
    )


def certify_reading(task: Task) -> Certificate:
    """Definition 2.1: the last word but one is no trigger, and the output can be read off the context."""

    def holds(sentences: Sentences) -> Bool[Tensor, " sentences"]:
        read = recover_output(sentences.tokens, task) == sentences.output
        return read & (sentences.tokens[:, -2] >= task.triggers)

    def run(values: Counterexample) -> tuple[str, bool]:
        sentences = sentence_at(task, values)
        read, output = recover_output(sentences.tokens, task).item(), sentences.output.item()
        trigger = sentences.tokens[0, -2].item() < task.triggers
        words = f"{sentences.tokens[0].tolist()}: {read} is read where the output is {output}"
        return f"{words}; a trigger comes last but one: {trigger}", read != output or trigger

    words = "the output is read off the context, and the last word but one is no trigger"
    control = Control.of("without condition III", ask_sentences(task, holds, words, [NOTHING_ELSE]), run)
    return certify(
        "In a sentence of the data model the output can be read off the context, and z_{H-1} is no trigger.",
        f"all sentences of {task.length} of {task.tokens} words, {task.triggers} of them triggers, "
        f"{task.outputs} outputs{' and one τ' if task.noisy else ''}",
        ask_sentences(task, holds, words),
        control,
    )


def _ask_logits(task: Task, words: str, without: Collection[str] = (), unseen: bool = False) -> Answer:
    """Ask whether the logits of linear and of ReLU attention are those of Lemma 3.1, one term of W at a time."""

    def holds(sentences: Sentences) -> Bool[Tensor, " sentences"]:
        right, count = [], _counts(sentences)
        for k in range(task.triggers):
            expected = _at(sentences.output, count * (sentences.trigger == k), task.tokens)
            for kind in (LINEAR, RELU):
                logits = run_at(task, sentences.tokens, _unit(k, task.triggers), architecture=kind).logits
                right.append((logits == expected).all(dim=1))
        return torch.stack(right).all(dim=0)

    return ask_sentences(task, holds, words, without, unseen)


def _noisy_logits_at(task: Task, sentences: Sentences, scale: float, gamma: float) -> Bool[Tensor, " sentences"]:
    """The sentences on which both layers have the logits of Lemma 4.1."""
    votes = scale * _counts(sentences)
    at_output = _at(sentences.output, votes, task.tokens)
    at_noise = _at(torch.full_like(sentences.output, task.noise_token), gamma + votes, task.tokens)
    right = torch.ones(len(votes), dtype=torch.bool)
    for kind in (LINEAR, RELU):
        done = run_at(task, sentences.tokens, [scale], gamma, kind)
        right &= (done.attention == at_output).all(dim=1) & (done.feed_forward == at_noise).all(dim=1)
    return right


def _rival(task: Task, values: Counterexample) -> tuple[str, bool]:
    """The logits at a sentence in which another word follows the trigger."""
    sentences = sentence_at(task, values)
    logits = run_at(task, sentences.tokens, [1.0] * task.triggers).logits[0]
    others = logits.index_fill(0, sentences.output, 0.0)
    return f"{sentences.tokens[0].tolist()}: another word has the logit {others.max().item()}", others.max().item() != 0


def _counts(sentences: Sentences) -> Float[Tensor, " sentences"]:
    return bigram_count(sentences.tokens, sentences.trigger, sentences.output).double()


def _at(words: Int[Tensor, " sentences"], values: Float[Tensor, " sentences"], tokens: int) -> Tensor:
    """Logits that are 0 except for one word of each sentence."""
    return torch.zeros(len(words), tokens, dtype=torch.float64).scatter(1, words[:, None], values[:, None])


def _unit(k: int, size: int) -> list[float]:
    return [float(place == k) for place in range(size)]
