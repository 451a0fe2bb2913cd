"""The trained models that the instrument "Trigger and answer" runs in a browser, as plain numbers (Sections 3 to 5).

Sixteen words, one trigger "to", four outputs, the noise token "the", and three models with linear attention that
differ in what is trained: the scale λ alone (Algorithm 1; without noise Theorem 3.2), the matrix W with V and F of the
lemmas, or all three matrices (Reparam-Linear-FA, Reparam-Linear-W-FA and Origin-Linear-FA of Table 1). Matrices are
kept in ten-thousandths, at a ladder of times; :func:`weights_at` reads them back.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.in_context_reasoning.batches import Shared
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.descent import algorithm_1, descend_noiseless
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Weights
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task, draw_labels, sample_sentences
from attention_theory.in_context_reasoning.variants import VARIANTS, Stack, TrainingRun
from attention_theory.randomness import Seed, generator, streams
from attention_theory.validation import require

#: The vocabulary in the order of the tokens: the trigger, the outputs, the neutral words, the noise token.
_WORDS = (
    *("to", "Anna", "Bob", "Rome", "Lima"),
    *("we", "she", "gives", "sends", "a", "book", "letter", "cat", "and", "then"),
    "the",
)
_LENGTH = 14
#: Matrices are kept in this unit.
_UNIT = 1 / 10_000
#: The models: the part that is trained, and the name in Table 1.
_MODELS = {"scales": "Reparam-Linear-FA", "query-key": "Reparam-Linear-W-FA", "all": "Origin-Linear-FA"}
_SCALE_NOISES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_SCALE_TIMES = (0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200)
_NOISES = (0.0, 0.2, 0.5, 0.8)  # the paper's (Section 5)
_TIMES = (0, 1, 3, 10, 20, 30, 50, 100, 200)
_BATCH = 128
#: The rows of W that training can move: the trigger, and every word that may stand before the last one. All sentences
#: end in the trigger, and no trigger stands before it, so that all other rows stay 0 (Definition 2.1).
_ROWS = [0, *range(len(_WORDS) + 1, 2 * len(_WORDS))]


def reading_task(noisy: bool) -> Task:
    """Definition 2.1 over :data:`_WORDS`; outputs may stand anywhere, so that a model must read the word before.

    Without noise "the" is a neutral word, as it is no word of the noiseless task otherwise.
    """
    return Task(len(_WORDS), 1, 4, _LENGTH, noisy, "outputs allowed")


def reading_sentences(task: Task, count: int, draw: torch.Generator) -> Sentences:
    """Sentences of Definition 2.1 with one or two bigrams (q, y) and, in a noisy task, up to two bigrams (q, τ)."""
    copies = torch.randint(1, 3, (count,), generator=draw)
    return sample_sentences(task, count, draw, copies, torch.randint(0, 3, (count,), generator=draw))


def _scale_path(
    noise: float, times: Sequence[int], lr: float, samples: int, seed: Seed
) -> tuple[float, float, list[float]]:
    """α̂, γ̂ and λ at some times: Algorithm 1 on ``samples`` labelled sentences, or, without noise, Theorem 3.2.

    Without noise no γ is used; it is 0.
    """
    if not noise:
        counts = torch.tensor([[0.5, 0.5]], dtype=torch.float64)  # of bigrams, as reading_sentences draws them
        path = descend_noiseless(counts, lr, max(1, *times), len(_WORDS) - 1)[:, 0]
        return 0.0, 0.0, [path[time].item() for time in times]
    task, draw = reading_task(True), generator(seed)
    sentences = reading_sentences(task, samples, draw)
    labels = draw_labels(sentences, task, torch.tensor([noise], dtype=torch.float64), draw)[0]
    fit = algorithm_1(sentences, labels, task, lr, max(1, *times))
    return fit.alpha, fit.gamma, [fit.scales[time].item() for time in times]


@torch.inference_mode()
def _trained_matrices(name: str, noises: Sequence[float], times: Sequence[int], lr: float, seed: Seed) -> list[Weights]:
    """V, W, F of a model at every time, stacked by noise level: normalised descent from zero on fresh sentences.

    The noise levels are all above 0, or the one level 0.
    """
    levels = sorted(noises)
    task, draw = reading_task(levels[0] > 0), generator(seed)
    stack = Stack([TrainingRun(VARIANTS[name], noise, lr) for noise in noises], task)
    rows, of_labels = stack.rows(levels), torch.tensor(levels, dtype=torch.float64)
    kept = []
    for time in range(max(times) + 1):
        if time in times:
            kept.append(Weights(*(part.clone() for part in stack.weights.matrices)))
        sentences = reading_sentences(task, _BATCH, draw)
        labels = draw_labels(sentences, task, of_labels, draw)[rows]
        Shared(sentences.tokens, task, torch.float64).step(stack, labels, "log-domain")
    return kept


def trained_table(lr: float = 0.1, samples: int = 2048, seed: int = 0) -> dict[str, Any]:
    """Everything that the instrument shows, as plain numbers: words, models, noise levels, times, weights.

    Raises:
        ParameterError: a rate below 0, no sample, or a seed out of range.
    """
    of_paths, of_matrices = streams(seed, 2)
    paths = [_scale_path(noise, _SCALE_TIMES, lr, samples, of_paths) for noise in _SCALE_NOISES]
    scales = {
        "noises": list(_SCALE_NOISES),
        "times": list(_SCALE_TIMES),
        "estimates": [alpha for alpha, _, _ in paths],
        "gammas": [gamma for _, gamma, _ in paths],
        "scales": [scales for _, _, scales in paths],
    }
    models = {"scales": scales}
    for trained in ("query-key", "all"):
        models[trained] = _in_units(trained, lr, of_matrices)
    return {
        "words": list(_WORDS),
        "outputs": list(reading_task(True).output_words),
        "length": _LENGTH,
        "rate": lr,
        "samples": samples,
        "unit": _UNIT,
        "rows": _ROWS,
        "names": dict(_MODELS),
        "models": models,
    }


def weights_at(table: dict[str, Any], trained: str, noise: float, time: int) -> Weights:
    """V, W, F of a model of :func:`trained_table` at one noise level and time, in the codes of the gather form.

    Raises:
        ParameterError: a model, a noise level or a time that the table does not have.
    """
    require(trained=(trained, list(table["models"])))
    part = table["models"][trained]
    require(noise=(noise, part["noises"]), time=(time, part["times"]))
    row, column = part["noises"].index(noise), part["times"].index(time)
    task, codes = reading_task(noise > 0), embedding(len(_WORDS), 2 * len(_WORDS))
    if trained == "scales":
        scale = torch.tensor([part["scales"][row][column]], dtype=torch.float64)
        return reparameterised(task, codes, scale, part["gammas"][row]).in_codes(codes)
    built = reparameterised(task, codes, torch.zeros(1, dtype=torch.float64), part["gammas"][row]).in_codes(codes)
    query_key = torch.zeros_like(built.query_key)
    query_key[table["rows"]] = _from_units(part["query_key"][row][column], table)
    if trained == "query-key":
        return Weights(built.value, query_key, built.feed_forward)
    value, forward_layer = (_from_units(part[name][row][column], table) for name in ("value", "feed_forward"))
    return Weights(value, query_key, forward_layer)


def _in_units(trained: str, rate: float, seed: int) -> dict[str, Any]:
    """The matrices of a model, rounded to units: for each noise level and time the entries, row after row."""
    quiet = _trained_matrices(_MODELS[trained], _NOISES[:1], _TIMES, rate, seed)
    noisy = _trained_matrices(_MODELS[trained], _NOISES[1:], _TIMES, rate, seed)
    levels = [[Weights(*(part[0] for part in each.matrices)) for each in quiet]]
    levels += [[Weights(*(part[k] for part in each.matrices)) for each in noisy] for k in range(len(_NOISES) - 1)]
    table: dict[str, Any] = {
        "noises": list(_NOISES),
        "times": list(_TIMES),
        "gammas": [odds(noise) if noise else 0.0 for noise in _NOISES],
        "query_key": [[_units(each.query_key[_ROWS]) for each in level] for level in levels],
    }
    if trained == "all":
        table["value"] = [[_units(each.value) for each in level] for level in levels]
        table["feed_forward"] = [[_units(each.feed_forward) for each in level] for level in levels]
    return table


def _units(matrix: Float[Tensor, "rows columns"]) -> list[int]:
    whole: list[int] = (matrix / _UNIT).round().long().flatten().tolist()
    return whole if any(whole) else []


def _from_units(whole: list[int], table: dict[str, Any]) -> Float[Tensor, "rows columns"]:
    """The matrix that :func:`_units` rounded, each entry the nearest number to so many units; no entry: zeros."""
    size = len(table["words"])
    entries = torch.tensor(whole or [0] * (2 * size * size), dtype=torch.float64)
    return (entries / round(1 / table["unit"])).view(size, 2 * size)
