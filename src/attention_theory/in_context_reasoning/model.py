"""The one-layer transformer as printed, Eq. (1), and its gather form.

In the codes of :func:`in_codes` a word is an axis, and so is a previous word; then ``x_h`` has two ones, at ``z_h`` and
at ``N + z_{h-1}``. A score is two look-ups in the vector ``W^T x_H``, the attended sum is a histogram of the words, and
no tensor of sentences by length by width is ever formed. Models are stacked in front: they share the sentences.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from attention_theory.in_context_reasoning.embedding import Embedding, embed
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
            return (scores + self.relu_shift).clamp_min(0)
        return attention_weights(scores, "softmax" if self.attention == "softmax" else "linear")

    def pull_back(
        self,
        scores: Float[Tensor, "... length"],
        weights: Float[Tensor, "... length"],
        slope: Float[Tensor, "... length"],
    ) -> Float[Tensor, "... length"]:
        """The loss's slope in the scores from its slope in the weights; the slope of ReLU at 0 is 0."""
        if self.attention == "relu":
            return slope * (scores + self.relu_shift > 0)
        if self.attention == "softmax":
            return weights * (slope - (weights * slope).sum(dim=-1, keepdim=True))
        return slope


@dataclass(frozen=True)
class Pass:
    """One forward pass of Eq. (1); leading axes are those of the weights, then the sentences.

    ``scores`` and ``weights`` have an entry a position, ``attended`` is ``sum_h σ(score_h) x_h``, and ``attention``
    and ``feed_forward`` are the logits ξ_A and ξ_F of the two layers.
    """

    scores: Float[Tensor, "... sentences length"]
    weights: Float[Tensor, "... sentences length"]
    attended: Float[Tensor, "... sentences codes"]
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


def forward(tokens: Int[Tensor, "sentences length"], weights: Weights, architecture: Architecture) -> Pass:
    """Eq. (1) in gather form, for one model or for stacked ones, with weights in the codes (:func:`in_codes`)."""
    last, before_last = tokens[:, -1], _size(weights) + tokens[:, -2]
    lookup = weights.query_key[..., last, :] + weights.query_key[..., before_last, :]
    scores = _read(lookup, tokens)
    spread = architecture.weigh(scores)
    attended = _write(spread, tokens, _size(weights))
    attention = attended @ weights.value.mT
    feed_forward = (_last_word(tokens, weights) + architecture.full_input * attended) @ weights.feed_forward.mT
    return Pass(scores, spread, attended, attention, feed_forward)


def gradients(
    tokens: Int[Tensor, "sentences length"],
    weights: Weights,
    architecture: Architecture,
    done: Pass,
    error: Float[Tensor, "... sentences tokens"],
    layers: bool = True,
) -> Weights:
    """The slope of ``sum(error * logits) / sentences`` in V, W, F, where ``error`` is the loss's slope in the logits.

    Args:
        done: the forward pass at these tokens and weights.
        layers: also the slopes in V and F; without it they are returned as zeros.
    """
    slope = error / len(tokens)
    last = _last_word(tokens, weights)
    to_attended = slope @ (weights.value + architecture.full_input * weights.feed_forward)
    to_scores = architecture.pull_back(done.scores, done.weights, _read(to_attended, tokens))
    query_key = last.mT @ _write(to_scores, tokens, _size(weights))
    if not layers:
        return Weights(torch.zeros_like(weights.value), query_key, torch.zeros_like(weights.feed_forward))
    return Weights(slope.mT @ done.attended, query_key, slope.mT @ (last + architecture.full_input * done.attended))


def _size(weights: Weights) -> int:
    return weights.query_key.shape[-1] // 2


def _last_word(tokens: Tensor, weights: Weights) -> Float[Tensor, "sentences codes"]:
    """``x_H`` in the codes: a one at the last word and one at the word before it."""
    codes = weights.value.new_zeros(len(tokens), 2 * _size(weights))
    codes.scatter_(1, tokens[:, -1:], 1.0)
    return codes.scatter_(1, _size(weights) + tokens[:, -2:-1], 1.0)


def _read(lookup: Float[Tensor, "... codes"], tokens: Tensor) -> Float[Tensor, "... length"]:
    """The inner product of ``lookup`` with every ``x_h``: its entry at the word plus that at the previous word."""
    size = lookup.shape[-1] // 2
    rows = pad(lookup, (0, 1)).flatten(-2)  # a 0 for the word before the first
    starts = torch.arange(0, rows.shape[-1], 2 * size + 1, device=tokens.device)[:, None]
    before = pad(size + tokens[:, :-1], (1, 0), value=2 * size)
    word, previous = (rows.index_select(-1, (starts + places).flatten()) for places in (tokens, before))
    return (word + previous).unflatten(-1, tokens.shape)


def _write(values: Float[Tensor, "... length"], tokens: Tensor, size: int) -> Float[Tensor, "... codes"]:
    """The sum of ``values[h] * x_h``: the values collected by word and by previous word."""
    codes = values.new_zeros(*values.shape[:-1], 2 * size)
    codes[..., :size].scatter_add_(-1, tokens.expand(values.shape), values)
    later = values[..., 1:]
    codes[..., size:].scatter_add_(-1, tokens[:, :-1].expand(later.shape), later)
    return codes
