"""Saturated heads: softmax weights close to one-hot (Appendix H, Figure 3)."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.memorization.synthetic import Setting
from attention_theory.validation import ParameterError, refuse_unless, require, require_some


@dataclass(frozen=True)
class Saturation:
    """Saturated pairs of head and example.

    Attributes:
        largest: the largest softmax weight of each head on each example.
        saturated: where that weight is above the threshold.
    """

    largest: Float[Tensor, "heads examples"]
    saturated: Bool[Tensor, "heads examples"]

    @property
    def heads_per_example(self) -> Int[Tensor, " examples"]:
        """The number of saturated heads on each example."""
        return self.saturated.sum(dim=0)

    @property
    def share(self) -> float:
        """The share of saturated pairs of head and example."""
        return self.saturated.double().mean().item()

    @property
    def share_with_a_free_head(self) -> float:
        """The share of examples on which at least one head is not saturated."""
        return (~self.saturated).any(dim=0).double().mean().item()

    @property
    def share_free_by_chance(self) -> float:
        """The same, if heads saturated independently of each other, each on as many examples as it does."""
        return 1 - self.saturated.double().mean(dim=1).prod().item()


def saturation(attention: Float[Tensor, "heads examples tokens"], threshold: float = 0.99) -> Saturation:
    """A head is saturated on an example if one of its weights is above the threshold (0.99 in Appendix H).

    Raises:
        ParameterError: no example; a threshold outside 0.5 to 1, or weights that are negative, not numbers, or do not
            sum to 1.
    """
    require(threshold=(threshold, 0.5, 1.0))
    require_some(attention=attention)
    _require_weights(attention)
    largest = attention.amax(dim=-1)
    return Saturation(largest, largest > threshold)


def saturation_by_model(
    attention: Float[Tensor, "heads examples tokens"], settings: Iterable[Setting], threshold: float = 0.99
) -> list[Saturation]:
    """The saturation of every model of a panel, its own heads and examples alone.

    Args:
        attention: of all heads of the panel one after another, padded, as
            :meth:`~attention_theory.memorization.trainer.PanelTrainer.attention` gives it.
        settings: the panel's models.
        threshold: as for :func:`saturation`.

    Raises:
        ParameterError: as :func:`saturation`, or settings that have not as many heads as there are weights.
    """
    models = list(settings)
    heads = sum(model.heads for model in models)
    refuse_unless(heads == len(attention), f"settings must have {len(attention)} heads, as attention has, got {heads}")
    parts = attention.split([one.heads for one in models])
    return [
        saturation(part[:, : one.examples, : one.tokens], threshold) for part, one in zip(parts, models, strict=True)
    ]


def _require_weights(attention: Float[Tensor, "heads examples tokens"]) -> None:
    """The weights of a softmax, up to the rounding of a sum of so many."""
    rounding = 4 * attention.shape[-1] * torch.finfo(attention.dtype).eps
    gap = (attention.sum(dim=-1) - 1).abs()
    if not bool((gap <= rounding).all() and (attention >= 0).all()):
        raise ParameterError("attention must hold weights of at least 0 that sum to 1 over the tokens")
