"""The one-layer transformer as printed, Eq. (1), and its gather form.

In the codes of :func:`in_codes` a word is an axis, and so is a previous word; then ``x_h`` has two ones, at ``z_h`` and
at ``N + z_{h-1}``. A score is two look-ups in the vector ``W^T x_H``, the attended sum is a histogram of the words, and
no tensor of sentences by length by width is ever formed. Models are stacked in front: they share the sentences, and
the :class:`Places` of these are worked out once.
"""

from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.in_context_reasoning.embedding import Embedding, embed
from attention_theory.in_context_reasoning.places import Places
from attention_theory.layers import attention_weights
from attention_theory.validation import require

#: The activation σ of Eq. (1).
Activation = Literal["linear", "relu", "softmax"]


@dataclass(frozen=True)
class Weights:
    """V, W, F of Eq. (1): ``width x width`` as printed; ``U V`` and ``U F`` (tokens x codes) in the gather form."""

    value: Float[Tensor, "... out codes"]
    query_key: Float[Tensor, "... codes codes"]
    feed_forward: Float[Tensor, "... out codes"]

    @property
    def matrices(self) -> tuple[Tensor, Tensor, Tensor]:
        """V, W and F in this order."""
        return self.value, self.query_key, self.feed_forward


@dataclass(frozen=True)
class Attended:
    """What attention does in Eq. (1); leading axes are those of the weights, then the sentences.

    ``scores`` and ``powers`` have an entry a position, and of several sets of sentences they are as :class:`Places`
    looks them up. ``powers`` are ``σ(score_h)`` times ``total``, and ``attended`` is ``sum_h σ(score_h) x_h``.
    """

    scores: Float[Tensor, "... rows length"]
    powers: Float[Tensor, "... rows length"]
    attended: Float[Tensor, "... sentences codes"]
    total: Float[Tensor, "... sentences 1"] | float = field(default=1.0, kw_only=True)

    @property
    def weights(self) -> Float[Tensor, "... rows length"]:
        """``σ(score_h)``, where all models share the sentences."""
        return self.powers / self.total


@dataclass(frozen=True)
class Architecture:
    """What Eq. (1) leaves to choose: how scores become weights, and what the feed-forward layer sees.

    Attributes:
        attention: the activation σ.
        full_input: κ: 1 where the feed-forward layer sees the attended sum (FA), 0 where it sees ``x_H`` alone (F).
            A number, or one a stacked model.
        relu_shift: added to the score inside ReLU. The paper prints 0; then V, W and λ of a ReLU model never leave
            a zero start, for the slope of ReLU at 0 is 0.

    Raises:
        ParameterError: an unknown activation, or a negative shift.
    """

    attention: Activation = "linear"
    full_input: float | Float[Tensor, "models 1 1"] = 1.0
    relu_shift: float = 0.0

    def __post_init__(self) -> None:
        require(attention=(self.attention, {"linear", "relu", "softmax"}), relu_shift=(self.relu_shift, 0.0, None))

    def weigh(self, scores: Float[Tensor, "... length"]) -> Float[Tensor, "... length"]:
        """σ of the scores."""
        if self.attention == "relu":
            return (scores + self.relu_shift).clamp_min_(0)
        return attention_weights(scores, "softmax" if self.attention == "softmax" else "linear")

    def attend(self, places: Places, scores: Float[Tensor, "... rows length"]) -> Attended:
        """What attention with these scores does. The softmax is divided by its sum in the codes, which are fewer."""
        powers = (scores - _largest(scores)).exp_() if self.attention == "softmax" else self.weigh(scores)
        attended = places.by_set(places.write(powers)).contiguous()
        if self.attention != "softmax":
            return Attended(scores, powers, attended)
        total = attended[..., : places.size].sum(dim=-1, keepdim=True)  # every position has one word
        return Attended(scores, powers, attended / total, total=total)

    def with_full_input(self, values: Tensor, more: Tensor) -> Tensor:
        """``values + κ more``."""
        if isinstance(self.full_input, Tensor):
            return torch.addcmul(values, self.full_input, more)
        return torch.add(values, more, alpha=self.full_input)

    def pull_back(
        self, places: Places, done: Attended, slope: Float[Tensor, "... sentences codes"]
    ) -> Float[Tensor, "... rows length"]:
        """The loss's slope in the scores from its slope in the attended sum; the slope of ReLU at 0 is 0.

        The mean that the softmax takes away is the same at every position of a sentence, so its words take it along.
        """
        if self.attention == "softmax":
            mean = (done.attended * slope).sum(dim=-1, keepdim=True)
            slope = slope / done.total
            slope[..., : places.size] -= mean / done.total
            return places.read(slope).mul_(done.powers)
        of_powers = places.read(slope)
        if self.attention == "relu":  # one pass; ``of_powers * powers.sign()`` takes two
            return torch.ops.aten.threshold_backward(of_powers, done.powers, 0)
        return of_powers


@dataclass(frozen=True)
class Pass(Attended):
    """One forward pass of Eq. (1): ``attention`` and ``feed_forward`` are the logits ξ_A and ξ_F of the two layers."""

    attention: Float[Tensor, "... sentences tokens"]
    feed_forward: Float[Tensor, "... sentences tokens"]

    @property
    def logits(self) -> Float[Tensor, "... sentences tokens"]:
        """ξ = ξ_A + ξ_F."""
        return self.attention + self.feed_forward


def dense_forward(
    tokens: Int[Tensor, "sentences length"], codes: Embedding, weights: Weights, architecture: Architecture
) -> Pass:
    """Eq. (1) word for word, with ``U`` the word codes: the reference for :func:`forward`, for small sizes."""
    inputs = embed(tokens, codes)
    last = inputs[:, -1]
    scores = torch.einsum("sd,de,she->sh", last, weights.query_key, inputs)
    spread = architecture.weigh(scores)
    attended = torch.einsum("sh,shd->sd", spread, inputs)
    attention = attended @ weights.value.mT @ codes.word.mT
    feed_forward = (last + architecture.full_input * attended) @ weights.feed_forward.mT @ codes.word.mT
    return Pass(scores, spread, attended, attention, feed_forward)


def in_codes(weights: Weights, codes: Embedding) -> Weights:
    """Printed weights in the coordinates of the codes, for the gather form. Exact under Assumption 2.2."""
    rows = codes.stacked
    return Weights(
        codes.word @ weights.value @ rows.mT,
        rows @ weights.query_key @ rows.mT,
        codes.word @ weights.feed_forward @ rows.mT,
    )


def attend(tokens: Int[Tensor, "sentences length"] | Places, weights: Weights, architecture: Architecture) -> Attended:
    """The attended sum of Eq. (1) in gather form, for one model or for stacked ones (weights as in :func:`forward`)."""
    places = _places(tokens, weights)
    return architecture.attend(places, places.read(places.at_last(weights.query_key)))


def forward(tokens: Int[Tensor, "sentences length"] | Places, weights: Weights, architecture: Architecture) -> Pass:
    """Eq. (1) in gather form, for one model or for stacked ones, with weights in the codes (:func:`in_codes`)."""
    places = _places(tokens, weights)
    done = attend(places, weights, architecture)
    attention = done.attended @ weights.value.mT
    of_last = places.by_set(places.at_last(weights.feed_forward.mT))
    feed_forward = of_last + architecture.full_input * (done.attended @ weights.feed_forward.mT)
    return Pass(done.scores, done.powers, done.attended, attention, feed_forward, total=done.total)


def logits_of(
    tokens: Int[Tensor, "sentences length"] | Places, weights: Weights, architecture: Architecture, done: Attended
) -> Float[Tensor, "... sentences tokens"]:
    """The logits ξ of :func:`forward` without those of the layers: one product where these take two."""
    places = _places(tokens, weights)
    of_last = places.by_set(places.at_last(weights.feed_forward.mT))
    return of_last.add_(done.attended @ _together(weights, architecture).mT)


def gradients(
    tokens: Int[Tensor, "sentences length"] | Places,
    weights: Weights,
    architecture: Architecture,
    done: Attended,
    error: Float[Tensor, "... sentences tokens"],
    layers: bool = True,
) -> Weights:
    """The slope of ``sum(error * logits) / sentences`` in V, W, F, where ``error`` is the loss's slope in the logits.

    Args:
        done: what :func:`attend` or :func:`forward` gave at these tokens and weights.
        layers: also the slopes in V and F; without it they are returned as zeros.
    """
    places = _places(tokens, weights)
    slope = error / len(places)
    to_attended = slope @ _together(weights, architecture)
    query_key = places.by_last(places.write(architecture.pull_back(places, done, to_attended)))
    if not layers:
        return Weights(torch.zeros_like(weights.value), query_key, torch.zeros_like(weights.feed_forward))
    value = (done.attended.mT @ slope).mT
    return Weights(value, query_key, architecture.with_full_input(places.by_last(slope).mT, value))


def _together(weights: Weights, architecture: Architecture) -> Float[Tensor, "... out codes"]:
    """What both layers make of the attended sum."""
    return architecture.with_full_input(weights.value, weights.feed_forward)


def _largest(values: Float[Tensor, "... length"]) -> Float[Tensor, "... 1"]:
    """The largest entry along the last axis, half against half, which are whole blocks where that is not contiguous."""
    if values.is_contiguous():
        return values.amax(dim=-1, keepdim=True)
    while (length := values.shape[-1]) > 1:
        half = (length + 1) // 2
        values = torch.maximum(values[..., :half], values[..., length - half :])
    return values


def _places(tokens: Tensor | Places, weights: Weights) -> Places:
    return tokens if isinstance(tokens, Places) else Places(tokens, weights.query_key.shape[-1] // 2)
