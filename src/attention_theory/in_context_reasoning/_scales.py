"""Fully reparameterised models, which move one number per trigger: their steps, on counts of words.

With the W of Lemmas 3.1 and 4.1 a word has the score λ of the last word if it follows that word, less λ if it is τ,
and 0 elsewhere. So only three scores occur in a sentence: -λ, 0 and λ. Words of one score have one weight, and their
sum is the same for every model: it is counted once a batch. As V is the identity and F writes to τ alone, these counts
are the logits, up to three weights.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.in_context_reasoning.cross_entropy import Arithmetic, cross_entropy
from attention_theory.in_context_reasoning.model import LayerLogits
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.variants import Stack

#: The scores that occur, in units of λ.
_UNITS = (-1, 0, 1)


@dataclass(frozen=True)
class Kinds:
    """The words of sentences by their scores. Sets of sentences are as in :class:`Places`, one below the other.

    Attributes:
        sums: for each score, how often each word stands in the sentence with it; and in a last column, how often a word
            with it follows the first trigger, which is all that F reads of the codes of previous words.
        sizes: how many words have the score.
        scale: which of the scales of all sets is the sentence's λ.
        last: whether the first trigger is the last word, and whether it is the word before.
        sets: how many sets there are.
    """

    sums: Float[Tensor, "rows scores columns"]
    sizes: Float[Tensor, "rows 1 scores"]
    scale: Int[Tensor, " rows"]
    last: Float[Tensor, "rows 1 2"]
    sets: int

    @classmethod
    def count(cls, tokens: Int[Tensor, "*sets sentences length"], task: Task, dtype: torch.dtype) -> "Kinds":
        """The kinds of the words in sentences of a task, counted in a type."""
        rows, sets = tokens.flatten(0, -2), tokens.shape[0] if tokens.ndim == 3 else 1
        width, bins = task.tokens + 1, len(_UNITS) * len(rows)
        middle = len(_UNITS) * torch.arange(len(rows), device=rows.device)[:, None] + 1
        kind = middle.expand(rows.shape).clone()
        kind[:, 1:] += (rows[:, :-1] == rows[:, -1:]) & (rows[:, -1:] < task.used_triggers)
        if task.noisy:
            kind -= (rows == task.noise_token).long()
        sums = torch.bincount((kind * width + rows).flatten(), minlength=bins * width).view(-1, len(_UNITS), width)
        sizes = sums.sum(dim=2)[:, None]
        sums[..., -1] = torch.bincount(kind[:, 1:][rows[:, :-1] == 0], minlength=bins).view(-1, len(_UNITS))
        used = task.used_triggers
        of_set = used * (torch.arange(len(rows), device=rows.device) // (len(rows) // sets))
        last = rows[:, None, [-1, -2]] == 0
        sums, sizes, last = (each.to(dtype) for each in (sums, sizes, last))
        return cls(sums, sizes, of_set + rows[:, -1].clamp_max(used - 1), last, sets)

    def pick(self, rows: Int[Tensor, " picked"]) -> "Kinds":
        """Some of the sentences of one set, by their numbers."""
        parts = (self.sums, self.sizes, self.scale, self.last)
        sums, sizes, scale, last = (part.index_select(0, rows) for part in parts)  # whole rows, several times faster
        return Kinds(sums, sizes, scale, last, self.sets)

    def gradient(
        self, stack: Stack, labels: Int[Tensor, "models sentences"], arithmetic: Arithmetic
    ) -> Float[Tensor, "models triggers"]:
        """The gradient of the loss in the scales, up to a factor for each model."""
        done = self._read(stack)
        logits = done.attended[..., :-1]
        if done.at_noise is not None:
            logits = logits.clone()
            logits[..., -1] += done.at_noise
        by_model = logits.unflatten(0, (self.sets, -1)).permute(2, 0, 1, 3)
        arithmetics = stack.arithmetics(arithmetic)[:: self.sets]
        error = cross_entropy(by_model, labels.reshape(by_model.shape[:-1]), arithmetics).error
        to_sums = torch.zeros_like(done.attended)
        to_sums[..., :-1] = (error / labels.shape[-1]).permute(1, 2, 0, 3).flatten(0, 1)
        if done.at_noise is not None:
            full, gamma = self._full_and_gamma(stack)
            at_noise = full * to_sums[..., -2]
            to_sums[..., 0] += gamma * at_noise
            to_sums[..., -1] = at_noise
        along = _pull_back(stack, done.weights, to_sums @ self.sums.mT, self.sizes).mT.contiguous()
        total = along.new_zeros(len(along), self.sets * stack.scales.shape[1])
        return total.index_add_(1, self.scale, along).view(stack.scales.shape)

    def layers(self, stack: Stack) -> LayerLogits:
        """The logits of both layers."""
        done = self._read(stack)
        attention = done.attended[..., :-1].unflatten(0, (self.sets, -1)).permute(2, 0, 1, 3).flatten(0, 1)
        feed_forward = torch.zeros_like(attention)
        if done.at_noise is not None:
            feed_forward[..., -1] = done.at_noise.unflatten(0, (self.sets, -1)).permute(2, 0, 1).flatten(0, 1)
        return LayerLogits(attention, feed_forward)

    def _read(self, stack: Stack) -> "_Read":
        """The forward pass of a stack of fully reparameterised models."""
        scales = stack.scales.view(-1, self.sets * stack.scales.shape[1])[:, self.scale].mT
        weights = _weigh(stack, scales[..., None] * stack.scales.new_tensor(_UNITS), self.sizes)
        attended = weights @ self.sums
        if not stack.task.noisy:
            return _Read(weights, attended, None)
        full, gamma = self._full_and_gamma(stack)
        seen = self.last + full[:, None] * attended[..., [0, -1]]
        return _Read(weights, attended, gamma * seen[..., 0] + seen[..., 1])

    def _full_and_gamma(self, stack: Stack) -> tuple[Float[Tensor, " models"], Float[Tensor, " models"]]:
        """κ and γ of the models of one set; those of every set are the same."""
        return stack.full[:: self.sets], stack.gammas[:: self.sets]


@dataclass(frozen=True)
class _Read:
    """The forward pass of stacked models: one row per sentence, then the models of its set.

    Attributes:
        weights: σ of the three scores.
        attended: the sums with these weights; their words are the logits of the attention layer.
        at_noise: the feed-forward layer's logit at τ, its only one; None without a noise token.
    """

    weights: Float[Tensor, "rows models scores"]
    attended: Float[Tensor, "rows models columns"]
    at_noise: Float[Tensor, "rows models"] | None


def _weigh(stack: Stack, scores: Float[Tensor, "rows models scores"], sizes: Tensor) -> Tensor:
    """σ of the scores; the softmax counts each as often as it occurs."""
    if stack.architecture.attention != "softmax":
        return stack.architecture.weigh(scores)
    scores = scores.masked_fill(sizes == 0, -torch.inf)
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / (powers * sizes).sum(dim=-1, keepdim=True)


def _pull_back(stack: Stack, weights: Tensor, gradient: Tensor, sizes: Tensor) -> Float[Tensor, "rows models"]:
    """The gradient in λ from that in the weights of all words of a score."""
    units = weights.new_tensor(_UNITS)
    if stack.architecture.attention == "softmax":
        mean = (weights * sizes) @ units
        return (gradient * weights * (units - mean[..., None])).sum(dim=-1)
    if stack.architecture.attention == "relu":
        gradient = gradient * weights.sign()
    return gradient @ units
