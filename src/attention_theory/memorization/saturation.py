"""Saturated heads: softmax weights close to one-hot (Appendix H, Figure 3)."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.validation import require


@dataclass(frozen=True)
class Saturation:
    """Which heads are saturated on which examples.

    Attributes:
        largest: the largest softmax weight of each head on each example.
        saturated: where that weight is above the threshold.
    """

    largest: Float[Tensor, "heads examples"]
    saturated: Bool[Tensor, "heads examples"]

    @property
    def heads_per_example(self) -> Int[Tensor, " examples"]:
        """How many heads are saturated on each example."""
        return self.saturated.sum(dim=0)

    @property
    def share(self) -> float:
        """The share of saturated pairs of head and example."""
        return self.saturated.double().mean().item()

    @property
    def share_with_a_free_head(self) -> float:
        """The share of examples on which at least one head is not saturated."""
        return (~self.saturated).any(dim=0).double().mean().item()


def saturation(attention: Float[Tensor, "heads examples tokens"], threshold: float = 0.99) -> Saturation:
    """A head is saturated on an example if one of its weights is above the threshold (0.99 in Appendix H).

    Raises:
        ParameterError: a threshold outside 0.5 to 1.
    """
    require(threshold=(threshold, 0.5, 1.0))
    largest = attention.amax(dim=-1)
    return Saturation(largest, largest > threshold)


def mean_entropy(attention: Float[Tensor, "heads examples tokens"]) -> float:
    """The entropy of the weights in nats, averaged over heads and examples: log n when even, 0 when one-hot."""
    return torch.special.entr(attention).sum(dim=-1).mean().item()
