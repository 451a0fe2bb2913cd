"""How far each layer predicts its own token, by mean logits as the paper draws them and by sentences (D.2.2)."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor

from attention_theory.in_context_reasoning.training import History

#: Each layer with the measure of the logit at its own token: y for attention, τ for the feed-forward layer.
OWN = {"attention": "attention_output", "feed_forward": "feed_forward_noise"}

Layer = Literal["attention", "feed_forward"]


def shortfall(history: History, layer: Layer, name: str, noise: float, rate: float) -> Float[Tensor, " records"]:
    """``1 - mean ξ_own / mean max_j ξ_j``: how far the two drawn curves are apart, as a share of the higher one.

    ``nan`` where all logits are 0, as before the first step.

    Raises:
        ParameterError: no such run.
    """
    own = history.of(OWN[layer], name, noise, rate)
    return 1 - own / history.of(f"{layer}_largest", name, noise, rate)


def share(history: History, layer: Layer, name: str, noise: float, rate: float) -> float:
    """The share of sentences whose largest logit of the layer is at its own token, at the end.

    Raises:
        ParameterError: no such run.
    """
    return history.of(f"{layer}_hits", name, noise, rate)[-1].item()
