"""Table 1: what is printed, the runs behind it, and the rule by which a run earns its tick."""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import torch

from attention_theory.in_context_reasoning.closed_form import bayes_risk, floor_without_attended, softmax_limit
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.training import OUTCOMES, History, side_by_side, train
from attention_theory.in_context_reasoning.variants import VARIANTS, Training
from attention_theory.randomness import Seed
from attention_theory.validation import Each, require


@dataclass(frozen=True)
class Cells:
    """One row of Table 1."""

    zero_loss: bool  # noiseless: the population loss reaches 0
    noiseless_unseen: bool  # noiseless: unseen outputs do as well as trained ones
    bayes_loss: bool  # noisy: the population loss reaches the Bayes risk
    noisy_unseen: bool  # noisy: unseen outputs do as well as trained ones

    @property
    def ticks(self) -> tuple[bool, ...]:
        """The four cells from left to right."""
        return astuple(self)


def agreed(rows: Sequence[Cells]) -> tuple[bool | None, ...]:
    """The four cells on which the rows of several seeds agree; ``None`` where they are split."""
    columns = zip(*(each.ticks for each in rows), strict=True)
    return tuple(ticks[0] if len(set(ticks)) == 1 else None for ticks in columns)


#: The ticks as printed.
PRINTED = {
    "Origin-Softmax-F": Cells(False, False, False, False),
    "Origin-Softmax-FA": Cells(True, False, True, False),
    "Origin-Linear-F": Cells(False, False, False, False),
    "Origin-Linear-FA": Cells(True, False, True, False),
    "Origin-ReLU-F": Cells(True, False, True, False),
    "Origin-ReLU-FA": Cells(True, False, True, False),
    "Reparam-Softmax-F": Cells(False, True, False, True),
    "Reparam-Softmax-FA": Cells(False, True, False, True),
    "Reparam-Linear-F": Cells(True, True, False, True),
    "Reparam-Linear-FA": Cells(True, True, True, True),
    "Reparam-Linear-W-FA": Cells(True, False, True, False),
    "Reparam-ReLU-F": Cells(True, True, False, True),
    "Reparam-ReLU-FA": Cells(True, True, True, True),
}


def train_grid(
    names: Sequence[str],
    task: Task,
    levels: Sequence[float],
    rates: Sequence[float],
    steps: int,
    batch: int,
    seed: Seed,
    *,
    arithmetic: Arithmetic = "subtraction",
    exact: Sequence[str] = (),
    evaluation: int = 1024,
    record_every: int | None = None,
    measured: Sequence[str] = OUTCOMES,
    device: torch.device | str = "cpu",
) -> History:
    """Every named model at every noise level and rate, in float32 as the paper trains them (Section 5).

    Noise level 0 is the noiseless task, with all triggers and no noise token, and the rest is the noisy one; ``task``
    gives the sizes and the fillers of both.

    Args:
        arithmetic: by subtraction as an ordinary training loop computes slopes, or in the log domain.
        exact: names that are run in the log domain as well, beside the others on the same sentences; these runs are
            ``with_arithmetic("log-domain")`` of the history.
        evaluation, record_every, measured, device: as for :func:`train`; what the cells need is measured unless given.

    Raises:
        ParameterError: a name that is none of the models, or a number out of range.
    """
    require(names=(Each([*names, *exact]), VARIANTS))
    ways: list[tuple[str, Arithmetic | None]] = [(name, None) for name in names]
    ways += [(name, "log-domain") for name in exact]
    parts = []
    for noisy in (False, True):
        noise = [level for level in levels if (level > 0) == noisy]
        if noise:
            runs = [
                Training(VARIANTS[name], level, rate, own) for name, own in ways for level in noise for rate in rates
            ]
            of_kind = Task(task.tokens, task.triggers, task.outputs, task.length, noisy, task.fillers)
            parts.append(
                train(
                    runs,
                    of_kind,
                    steps,
                    batch,
                    seed,
                    arithmetic=arithmetic,
                    dtype=torch.float32,
                    evaluation=evaluation,
                    record_every=record_every,
                    measured=measured,
                    device=device,
                )
            )
    return side_by_side(parts)


def gap_to_bayes(level: float, outputs: int = 4) -> float:
    """``(1 - α) ln |O|``: how far above the Bayes risk a model stays that knows the task and not the output."""
    return (1 - level) * math.log(outputs)


def closed_end(name: str, level: float, tokens: int) -> float:
    """Where the loss of a fully reparameterised model ends, with one bigram a sentence (Section 5.1 gives reasons).

    Args:
        tokens: words of the vocabulary, with the noise token.
    """
    others = tokens - 2 if level else tokens - 1
    if "Softmax" in name:
        return softmax_limit(level, others, full_input=name.endswith("FA")).loss
    return bayes_risk(level) if name.endswith("FA") else floor_without_attended(level, others)


def reaches(
    history: History, name: str, levels: Sequence[float], rates: Sequence[float], share: float
) -> tuple[bool, bool]:
    """Whether a model's population loss ends near its target, and its unseen loss as near to its population loss.

    Near is within ``share`` of the gap between the target and a model that does not know the output
    (:func:`gap_to_bayes`). At each noise level the rate with the lower population loss counts, since the paper reports
    the better of its rates; every level must pass.
    """
    near, alike = [], []
    for level in levels:
        loss, best = min((history.end("population", name, level, rate), rate) for rate in rates)
        unseen = history.end("unseen", name, level, best)
        near.append(loss - bayes_risk(level) <= share * gap_to_bayes(level))
        alike.append(abs(unseen - loss) <= share * gap_to_bayes(level))
    return all(near), all(alike)


def row(history: History, name: str, levels: Sequence[float], rates: Sequence[float], share: float) -> Cells:
    """A model's row of Table 1 from its runs, the noiseless ones among them; the paper states no margin.

    Args:
        levels: the noise levels above 0.
        share: see :func:`reaches`.
    """
    return Cells(*reaches(history, name, [0.0], rates, share), *reaches(history, name, levels, rates, share))
