"""Measures of runs over time (Figures 1 to 12), and what is read off them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.in_context_reasoning.closed_form import bayes_risk, gap_to_bayes
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic, cross_entropy, expected_loss
from attention_theory.in_context_reasoning.model import LayerLogits
from attention_theory.in_context_reasoning.task import Sentences, Task
from attention_theory.in_context_reasoning.variants import TrainingRun
from attention_theory.trends import slope
from attention_theory.validation import ParameterError, refuse_unless, require

#: What is measured at each record, each an average over the evaluation sentences.
MEASURES = (
    "population",  # loss over the label's law, sentences with the trained outputs
    "unseen",  # the same, sentences with words that were never outputs
    "labels",  # loss on the sentences and labels of the coming step, before it is taken
    "p_output",  # probability of the output word, unseen sentences
    "p_noise",  # probability of τ, unseen sentences
    "attention_output",  # ξ_A at the output word
    "attention_largest",  # the largest of ξ_A
    "feed_forward_noise",  # ξ_F at τ
    "feed_forward_largest",  # the largest of ξ_F
    "attention_hits",  # share of sentences whose largest ξ_A is at the output word
    "feed_forward_hits",  # share of sentences whose largest ξ_F is at τ
    "separated",  # share of sentences that satisfy condition (8)
)


@dataclass(frozen=True)
class History:
    """Every run's measures over time: ``values[measure]`` has one row per record and one column per run."""

    runs: list[TrainingRun]
    steps: list[int]
    values: dict[str, Float[Tensor, "records runs"]]

    def curve(self, measure: str, name: str, noise: float, lr: float) -> Float[Tensor, " records"]:
        """One measure of one run over time, by the model's name, its noise level and its rate.

        Raises:
            ParameterError: no such run, or a measure that there is not or that was not taken.
        """
        wanted = _describe(name, noise, lr)
        require(measure=(measure, self.values))
        refuse_unless(
            wanted in self._columns,
            f"name, noise and lr must be of a run, one of {list(self._columns)}, got {wanted}",
        )
        return self.values[measure][:, self._columns[wanted]]

    @cached_property
    def _columns(self) -> dict[str, int]:
        names = [_describe(run.variant.name, run.noise, run.lr, run.arithmetic) for run in self.runs]
        return {name: index for index, name in reversed(list(enumerate(names)))}  # the first of those with one name

    @classmethod
    def side_by_side(cls, histories: Sequence["History"]) -> "History":
        """The runs of several histories as one; all must have been measured at the same steps.

        Raises:
            ParameterError: they were not.
        """
        first = histories[0]
        if any(each.steps != first.steps for each in histories):
            raise ParameterError("histories must have been measured at the same steps")
        runs = [run for each in histories for run in each.runs]
        values = {name: torch.cat([each.values[name] for each in histories], dim=1) for name in first.values}
        return cls(runs, first.steps, values)

    def with_arithmetic(self, arithmetic: Arithmetic) -> "History":
        """The runs that stated this arithmetic, which :meth:`of` then returns."""
        kept = [index for index, run in enumerate(self.runs) if run.arithmetic == arithmetic]
        runs = [replace(self.runs[index], arithmetic=None) for index in kept]
        return History(runs, self.steps, {name: values[:, kept] for name, values in self.values.items()})

    def end(self, measure: str, name: str, noise: float, lr: float) -> float:
        """Final value of a measure: its mean over the last quarter of the records, which steadies the steps' jitter."""
        series = self.curve(measure, name, noise, lr)
        return series[-max(1, len(series) // 4) :].mean().item()

    def fraction_left(self, measure: str, name: str, noise: float, lr: float, outputs: int = 4) -> float:
        """The fraction left at the end of the way from the plateau, 1, down to the target, 0.

        The plateau is the loss of a model that knows which words are outputs and not which of them it is,
        ``(1 - α) ln |O|`` above the target, which is the Bayes risk.

        Raises:
            ParameterError: no such run, or no such measure.
        """
        return (self.end(measure, name, noise, lr) - bayes_risk(noise)) / gap_to_bayes(noise, outputs)

    def growth(self, measure: str, name: str, noise: float, lr: float) -> float:
        """By how much a measure grows per step over the last half of the records, by least squares (Section 5.2).

        Raises:
            ParameterError: no such run, no such measure, or fewer than two records in the last half.
        """
        half = len(self.steps) // 2
        times = torch.tensor(self.steps[half:], dtype=torch.float64)
        return slope(times, self.curve(measure, name, noise, lr)[half:])

    def steps_to(self, loss: float, name: str, noise: float, lr: float) -> int:
        """The first recorded step at which the population loss is at most ``loss``; if never, one more than all.

        Raises:
            ParameterError: no such run.
        """
        reached = (self.curve("population", name, noise, lr) <= loss).nonzero()
        return self.steps[int(reached[0])] if len(reached) else self.steps[-1] + 1


def measures(
    runs: list[TrainingRun],
    task: Task,
    held_out: Sequence[Sentences],
    passes: Sequence[LayerLogits],
    coming: Float[Tensor, "runs batch tokens"] | None,
    labels: Int[Tensor, "runs batch"],
    measured: Sequence[str] = MEASURES,
) -> dict[str, Float[Tensor, " runs"]]:
    """Some of :data:`MEASURES` of stacked runs, or all.

    Args:
        held_out, passes: the evaluation sentences, those with trained outputs first, and the layers' logits on them.
        coming, labels: logits and labels of the coming step; the logits are for ``labels`` alone.
    """
    noise = torch.tensor([run.noise for run in runs], dtype=torch.float64, device=labels.device)[:, None]
    seen, unseen = passes
    output, other = (sentences.output for sentences in held_out)
    tau, nothing = task.noise_token, torch.zeros_like(unseen.logits[..., 0], dtype=torch.float64)

    @cache
    def log_p() -> Float[Tensor, "runs sentences tokens"]:
        return unseen.logits.double().log_softmax(dim=-1)

    ways: dict[str, Callable[[], Tensor]] = {
        "population": lambda: expected_loss(seen.logits.double(), output, tau, noise),
        "unseen": lambda: expected_loss(unseen.logits.double(), other, tau, noise),
        "labels": lambda: cross_entropy(cast(Tensor, coming).double(), labels).losses,
        "p_output": lambda: _at(log_p(), other).exp(),
        "p_noise": lambda: log_p()[..., tau].exp() if task.noisy else nothing,
        "attention_output": lambda: _at(seen.attention, output),
        "attention_largest": lambda: seen.attention.amax(dim=-1),
        "feed_forward_noise": lambda: seen.feed_forward[..., tau],
        "feed_forward_largest": lambda: seen.feed_forward.amax(dim=-1),
        "attention_hits": lambda: seen.attention.argmax(dim=-1) == output,
        "feed_forward_hits": lambda: seen.feed_forward.argmax(dim=-1) == tau,
        "separated": lambda: seen.separated(output, tau) if task.noisy else nothing,
    }
    return {name: ways[name]().double().mean(dim=-1) for name in measured}


def _at(
    values: Float[Tensor, "runs sentences tokens"], token: Int[Tensor, " sentences"]
) -> Float[Tensor, "runs sentences"]:
    return values.gather(-1, token.expand(values.shape[:-1])[..., None]).squeeze(-1)


def _describe(name: str, noise: float, lr: float, arithmetic: Arithmetic | None = None) -> str:
    return f"{name} at α = {noise}, η = {lr}" + (f", {arithmetic}" if arithmetic else "")
