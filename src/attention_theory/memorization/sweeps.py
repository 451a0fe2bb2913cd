"""Sweeps over H, n, T and d_h: several models at every point, trained side by side (Figures 2, 4 and 5)."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.memorization.panel import Start
from attention_theory.memorization.synthetic import Labels, Setting, sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer
from attention_theory.validation import require, require_some

#: H, n, T, and d_h where it is not d.
Point = tuple[int, int, int] | tuple[int, int, int, int]


def sweep(
    points: Sequence[Point],
    width: int,
    seeds: int,
    steps: int,
    batch: int,
    lr: float,
    shared: bool = True,
    labels: Labels = "classes",
    classes: int = 100,
    relabel: bool = False,
    device: str = "cpu",
    epochs: int = 0,
    seed: int = 0,
    start: Start = "fan-in",
) -> Float[Tensor, "points seeds"]:
    """Score how well models memorise at every point, on the labels of the last epoch.

    Points that take equally many steps are trained side by side, as one program, in the order of their heads: models
    with equally many are multiplied together.

    Args:
        points: (H, n, T) each, with d_h = d, or (H, n, T, d_h); at least one.
        width: d.
        seeds: models for each point, at least 1; each seed draws data, weights and batches.
        steps: of a training, at least 1.
        batch, lr, relabel, start: as in :class:`~attention_theory.memorization.trainer.PanelTrainer`.
        shared, labels, classes: as in :func:`~attention_theory.memorization.synthetic.sample_data_sets`.
        device: where to train.
        epochs: passes through the examples for which there must be time, at least 0; points whose examples are so many
            take more than ``steps`` steps (Appendix A).
        seed: the first of the seeds, at least 0.

    Returns:
        the share of labels named for classes, the mean squared error for real labels.

    Raises:
        ParameterError: an argument out of its range, or fewer steps than one epoch.
    """
    require(seeds=(seeds, 1, None), epochs=(epochs, 0, None), seed=(seed, 0, None))
    require_some(points=points)
    groups: dict[int, list[int]] = {}
    for place, point in sorted(enumerate(points), key=lambda one: one[1][0]):
        groups.setdefault(max(steps, epochs * point[2] // batch), []).append(place)
    found = torch.zeros(len(points), seeds, dtype=torch.float64)
    for needed, places in groups.items():
        settings = [_setting(points[place], width, seed + s) for place in places for s in range(seeds)]
        data = sample_data_sets(settings, width, shared, labels, classes).to(device)
        trainer = PanelTrainer(settings, data, needed, batch, lr, relabel, start=start)
        trainer.run()
        score = trainer.score(trainer.latest_labels())
        result = score.accuracy if labels == "classes" else score.loss
        found[places] = result.to("cpu", torch.float64).view(-1, seeds)
    return found


def _setting(point: Point, width: int, seed: int) -> Setting:
    heads, tokens, examples, head_width = point if len(point) == 4 else (*point, width)
    return Setting(heads, tokens, examples, head_width, seed)
