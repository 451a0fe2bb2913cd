"""The picture that Tables 1 and 2 share: how models learn, and what they draw from the tokens before."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from attention_theory.hyper_attention.language.pretraining import Course


def draw_courses(
    learning: Any,
    places: Any,
    courses: Mapping[str, Sequence[Course]],
    bigram: float,
    colours: Sequence[str],
    markers: Sequence[str],
) -> None:
    """Draw held-out losses against the steps, and at the end how far each model is below that without attention.

    The start, where all models are alike, is left out. The curves are means over the seeds (Section 7.2).

    Args:
        learning: a matplotlib axis, of losses against steps.
        places: a matplotlib axis, of gains against the place in the window.
        courses: those of every model by its name, ``"no attention"`` among them.
        bigram: the loss of a counted table, drawn as a dashed line.
        colours: one a model.
        markers: one a model.
    """
    by_place = {name: torch.tensor([one.by_place for one in runs]).mean(0) for name, runs in courses.items()}
    for (name, runs), colour, marker in zip(courses.items(), colours, markers, strict=False):
        losses = torch.tensor([one.losses for one in runs])[:, 1:].mean(0)
        learning.plot(runs[0].steps[1:], losses, color=colour, marker=marker, label=name)
        if name != "no attention":
            gain = by_place["no attention"] - by_place[name]
            places.plot(gain, color=colour, marker=marker, markersize=3)
    learning.axhline(bigram, color="gray", linestyle="--", label="counted bigrams")
    learning.set(xlabel="step", ylabel="loss, nats per token")
    learning.legend(fontsize=7)
    places.set(xlabel="position in the window", ylabel="lower than no attention by, nats")
