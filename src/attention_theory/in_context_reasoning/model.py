"""The one-layer transformer of Eq. (1), and its gather form.

In the codes of :meth:`Weights.in_codes` a word is an axis, and so is a previous word; then ``x_h`` has two ones, at
``z_h`` and at ``N + z_{h-1}``. A score is two look-ups in the vector ``W^T x_H``, the attended sum is a histogram of
words, and no tensor of sentences by length by width is ever formed. Models are stacked in front and share sentences.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.in_context_reasoning._places import Places
from attention_theory.in_context_reasoning.embedding import Embedding
from attention_theory.layers import attention_weights
from attention_theory.validation import require

#: The activation σ of Eq. (1).
Activation = Literal["linear", "relu", "softmax"]


@dataclass(frozen=True)
class Weights:
    """V, W, F of Eq. (1): ``width x width`` in the paper; ``U V`` and ``U F`` (tokens x codes) in the gather form."""

    value: Float[Tensor, "... out codes"]
    query_key: Float[Tensor, "... codes codes"]
    feed_forward: Float[Tensor, "... out codes"]

    @property
    def matrices(self) -> tuple[Tensor, Tensor, Tensor]:
        """V, W and F in this order."""
        return self.value, self.query_key, self.feed_forward

    def in_codes(self, codes: Embedding) -> "Weights":
        """Printed weights in the coordinates of the codes, for the gather form. Exact under Assumption 2.2."""
        rows = codes.stacked
        return Weights(
            codes.word @ self.value @ rows.mT,
            rows @ self.query_key @ rows.mT,
            codes.word @ self.feed_forward @ rows.mT,
        )


@dataclass(frozen=True)
class _Attended:
    """The result of attention in Eq. (1); leading axes are those of the weights, then the sentences.

    ``scores`` and ``powers`` have an entry a position, and of several sets of sentences they are as :class:`Places`
    looks them up. ``powers`` are ``σ(score_h)`` times ``total``, and ``attended`` is ``sum_h σ(score_h) x_h``.
    """

    scores: Float[Tensor, "... rows length"]
    powers: Float[Tensor, "... rows length"]
    attended: Float[Tensor, "... sentences codes"]
    total: Float[Tensor, "... sentences 1"] | float = 1.0

    @property
    def weights(self) -> Float[Tensor, "... rows length"]:
        """``σ(score_h)``, where all models share the sentences."""
        return self.powers / self.total


@dataclass(frozen=True)
class LayerLogits:
    """The logits of the two layers: ``attention`` is ξ_A, ``feed_forward`` ξ_F."""

    attention: Float[Tensor, "... sentences tokens"]
    feed_forward: Float[Tensor, "... sentences tokens"]

    @property
    def logits(self) -> Float[Tensor, "... sentences tokens"]:
        """ξ = ξ_A + ξ_F."""
        return self.attention + self.feed_forward

    def separated(self, output: Int[Tensor, " sentences"], noise_token: int) -> Bool[Tensor, "... sentences"]:
        """Condition (8): the attention layer's one largest logit is at the output, the feed-forward layer's at τ."""
        return _leads(self.attention, output) & _leads(self.feed_forward, torch.full_like(output, noise_token))


def _leads(
    logits: Float[Tensor, "... sentences tokens"], token: Int[Tensor, " sentences"]
) -> Bool[Tensor, "... sentences"]:
    at_token = token.expand(logits.shape[:-1])[..., None]
    rivals = logits.scatter(-1, at_token, -torch.inf).amax(dim=-1)
    return logits.gather(-1, at_token).squeeze(-1) > rivals


@dataclass(frozen=True)
class Pass(_Attended, LayerLogits):
    """One forward pass of Eq. (1)."""


@dataclass(frozen=True)
class Architecture:
    """The choices that Eq. (1) leaves open: how scores become weights, and what the feed-forward layer sees.

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

    def attend(self, tokens: Int[Tensor, "sentences length"] | Places, weights: Weights) -> _Attended:
        """The attended sum of Eq. (1) in gather form, with weights as for :func:`forward`.

        The softmax is divided by its sum in the codes, which are fewer.
        """
        places = _places(tokens, weights)
        scores = places.read(places.at_last(weights.query_key))
        powers = (scores - _largest(scores)).exp_() if self.attention == "softmax" else self.weigh(scores)
        attended = places.by_set(places.write(powers)).contiguous()
        if self.attention != "softmax":
            return _Attended(scores, powers, attended)
        total = attended[..., : places.size].sum(dim=-1, keepdim=True)  # every position has one word
        return _Attended(scores, powers, attended / total, total)

    def logits(
        self, tokens: Int[Tensor, "sentences length"] | Places, weights: Weights, done: _Attended
    ) -> Float[Tensor, "... sentences tokens"]:
        """The logits ξ of :func:`forward` without those of the layers: one product where these take two."""
        places = _places(tokens, weights)
        of_last = places.by_set(places.at_last(weights.feed_forward.mT))
        return of_last.add_(done.attended @ self._both_layers(weights).mT)

    def gradients(
        self,
        tokens: Int[Tensor, "sentences length"] | Places,
        weights: Weights,
        done: _Attended,
        error: Float[Tensor, "... sentences tokens"],
        layers: bool = True,
    ) -> Weights:
        """The gradient of ``sum(error * logits) / sentences`` in V, W, F; ``error`` is the loss's in the logits.

        Args:
            done: what :meth:`attend` or :func:`forward` gave at these tokens and weights.
            layers: also the gradients in V and F; without it they are returned as zeros.
        """
        places = _places(tokens, weights)
        slope = error / len(places)
        query_key = places.by_last(places.write(self._pull_back(places, done, slope @ self._both_layers(weights))))
        if not layers:
            return Weights(torch.zeros_like(weights.value), query_key, torch.zeros_like(weights.feed_forward))
        value = (done.attended.mT @ slope).mT
        return Weights(value, query_key, self._with_full_input(places.by_last(slope).mT, value))

    def _both_layers(self, weights: Weights) -> Float[Tensor, "... out codes"]:
        """The matrix by which both layers together read the attended sum."""
        return self._with_full_input(weights.value, weights.feed_forward)

    def _with_full_input(self, values: Tensor, more: Tensor) -> Tensor:
        """``values + κ more``."""
        if isinstance(self.full_input, Tensor):
            return torch.addcmul(values, self.full_input, more)
        return torch.add(values, more, alpha=self.full_input)

    def _pull_back(
        self, places: Places, done: _Attended, slope: Float[Tensor, "... sentences codes"]
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


def dense_forward(
    tokens: Int[Tensor, "sentences length"], codes: Embedding, weights: Weights, architecture: Architecture
) -> Pass:
    """Eq. (1) word for word, with ``U`` the word codes: the reference for :func:`forward`, for small sizes."""
    inputs = codes.embed(tokens)
    last = inputs[:, -1]
    scores = torch.einsum("sd,de,she->sh", last, weights.query_key, inputs)
    spread = architecture.weigh(scores)
    attended = torch.einsum("sh,shd->sd", spread, inputs)
    attention = attended @ weights.value.mT @ codes.word.mT
    feed_forward = (last + architecture.full_input * attended) @ weights.feed_forward.mT @ codes.word.mT
    return Pass(attention, feed_forward, scores, spread, attended)


def forward(tokens: Int[Tensor, "sentences length"] | Places, weights: Weights, architecture: Architecture) -> Pass:
    """Eq. (1) in gather form, for one model or for stacked ones, with :meth:`Weights.in_codes`."""
    places = _places(tokens, weights)
    done = architecture.attend(places, weights)
    attention = done.attended @ weights.value.mT
    of_last = places.by_set(places.at_last(weights.feed_forward.mT))
    feed_forward = of_last + architecture.full_input * (done.attended @ weights.feed_forward.mT)
    return Pass(attention, feed_forward, done.scores, done.powers, done.attended, done.total)


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
