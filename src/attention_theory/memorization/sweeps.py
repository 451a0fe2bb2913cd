"""Sweeps over H, n and T: several models at every point, all trained in one program (Figures 4 and 5)."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.memorization.synthetic import Labels, Setting, sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer
from attention_theory.validation import require


def sweep(
    points: Sequence[tuple[int, int, int]],
    width: int,
    seeds: int,
    steps: int,
    batch: int,
    rate: float,
    shared: bool = True,
    labels: Labels = "classes",
    classes: int = 100,
    relabel: bool = False,
    device: str = "cpu",
) -> Float[Tensor, "points seeds"]:
    """How well models memorise at every point, on the labels of the last epoch.

    Args:
        points: (H, n, T) each, at least one.
        width: d, which is d_h too.
        seeds: models for each point, at least 1; seed s draws data, weights and batches.
        steps, batch, rate, relabel: as in :class:`~attention_theory.memorization.trainer.PanelTrainer`.
        shared, labels, classes: as in :func:`~attention_theory.memorization.synthetic.sample_data_sets`.
        device: where to train.

    Returns:
        the share of labels named for classes, the mean squared error for real labels.

    Raises:
        ParameterError: an argument out of its range, or fewer steps than one epoch.
    """
    require(points=(len(points), 1, None), seeds=(seeds, 1, None))
    settings = [Setting(H, n, T, width, seed) for H, n, T in points for seed in range(seeds)]
    data = sample_data_sets(settings, width, shared, labels, classes).to(device)
    trainer = PanelTrainer(settings, data, steps, batch, rate, relabel)
    trainer.run()
    score = trainer.score(trainer.latest_labels())
    result = score.accuracy if labels == "classes" else score.loss
    return result.to("cpu", torch.float64).view(-1, seeds)
