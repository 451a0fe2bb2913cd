"""Where runs end and how soon, by seed and by learning rate (Appendices D.1 and D.2.1)."""

from collections.abc import Sequence

from attention_theory.in_context_reasoning.closed_form import bayes_risk
from attention_theory.in_context_reasoning.table_1 import gap_to_bayes
from attention_theory.in_context_reasoning.training import History
from attention_theory.validation import require_some


def left_of_the_way(history: History, name: str, noise: float, rate: float) -> float:
    """What is left, at the end, of the way from the plateau of a model that knows no output, 1, to the target, 0.

    The plateau is ``(1 - α) ln |O|`` above the Bayes risk, with four outputs; the end is the mean over the last quarter
    of the records.

    Raises:
        ParameterError: no such run.
    """
    return (history.end("population", name, noise, rate) - bayes_risk(noise)) / gap_to_bayes(noise)


def spread(values: Sequence[float]) -> float:
    """The largest less the smallest.

    Raises:
        ParameterError: no value.
    """
    require_some(values=values)
    return max(values) - min(values)


def steps_to(history: History, name: str, noise: float, rate: float, loss: float) -> int:
    """The first recorded step at which the population loss is no higher than ``loss``; if never, one more than all.

    Raises:
        ParameterError: no such run.
    """
    reached = (history.of("population", name, noise, rate) <= loss).nonzero()
    return history.steps[int(reached[0])] if len(reached) else history.steps[-1] + 1
