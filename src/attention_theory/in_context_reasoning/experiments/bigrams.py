"""What linear attention sees of a sentence: how often each word stands in it, and how often it follows each other.

With σ the identity the attended sum of Eq. (1) is ``sum_h x_h x_h^T W^T x_H``, and so a product with the Gram matrix
``sum_h x_h x_h^T`` of the sentence. In the codes of a word and of the word before it that matrix holds counts alone: of
words and of words before on two diagonals, and of bigrams between the two. It is the same at every step, so sentences
that are seen again and again are counted once, however long they are.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.in_context_reasoning.model import Weights


@dataclass(frozen=True)
class Bigrams:
    """The counts of sentences over N words.

    Attributes:
        words: how often each word stands in the sentence.
        before: how often each word stands before another one.
        pairs: how often the word of the row follows the word of the column.
        last: the two codes in ``x_H``: of the last word, and N plus that of the word before it.
    """

    words: Float[Tensor, "sentences words"]
    before: Float[Tensor, "sentences words"]
    pairs: Float[Tensor, "sentences words words"]
    last: Int[Tensor, "sentences 2"]

    def __len__(self) -> int:
        return len(self.last)

    def pick(self, rows: Tensor | slice) -> "Bigrams":
        """Some of the sentences, by their numbers."""
        return Bigrams(self.words[rows], self.before[rows], self.pairs[rows], self.last[rows])

    def gram(self, vectors: Float[Tensor, "models sentences codes"]) -> Float[Tensor, "models sentences codes"]:
        """``(sum_h x_h x_h^T) v`` for a vector v a model and sentence."""
        size = self.words.shape[1]
        columns = vectors.permute(1, 2, 0)
        of_word, of_previous = columns[:, :size], columns[:, size:]
        top = torch.bmm(self.pairs, of_previous) + self.words[..., None] * of_word
        bottom = torch.bmm(self.pairs.mT, of_word) + self.before[..., None] * of_previous
        return torch.cat([top, bottom], dim=1).permute(2, 0, 1)

    def at_last(self, matrix: Float[Tensor, "models codes features"]) -> Float[Tensor, "models sentences features"]:
        """``x_H^T matrix``, a row a sentence."""
        return matrix[:, self.last[:, 0]] + matrix[:, self.last[:, 1]]

    def by_last(self, values: Float[Tensor, "models sentences features"]) -> Float[Tensor, "models codes features"]:
        """The sum over the sentences of ``x_H values^T``."""
        codes = 2 * self.words.shape[1]
        total = values.new_zeros(len(values), codes, values.shape[-1])
        return total.index_add_(1, self.last[:, 0], values).index_add_(1, self.last[:, 1], values)


def count_bigrams(
    tokens: Int[Tensor, "sentences length"], size: int, dtype: torch.dtype = torch.float64
) -> Bigrams:
    """The :class:`Bigrams` of sentences over ``size`` words."""
    first, second = tokens[:, :-1], tokens[:, 1:]
    count = torch.arange(len(tokens), device=tokens.device)[:, None]
    places = ((count * size + second) * size + first).flatten()
    pairs = torch.bincount(places, minlength=len(tokens) * size * size).view(-1, size, size).to(dtype)
    before = pairs.sum(dim=1)
    words = before.scatter_add(1, tokens[:, -1:], torch.ones_like(before[:, :1]))
    last = torch.stack([tokens[:, -1], size + tokens[:, -2]], dim=1)
    return Bigrams(words, before, pairs, last)


def layers(
    counts: Bigrams, weights: Weights
) -> tuple[
    Float[Tensor, "models sentences codes"],
    Float[Tensor, "models sentences words"],
    Float[Tensor, "models sentences words"],
]:
    """The attended sum and the logits ξ_A and ξ_F of stacked linear models with FA (Eq. 1; weights in the codes)."""
    attended = counts.gram(counts.at_last(weights.query_key))
    of_last = counts.at_last(weights.feed_forward.mT)
    return attended, attended @ weights.value.mT, of_last + attended @ weights.feed_forward.mT


def slopes(
    counts: Bigrams,
    weights: Weights,
    attended: Float[Tensor, "models sentences codes"],
    error: Float[Tensor, "models sentences words"],
    layers_too: bool = True,
) -> Weights:
    """The slope of ``sum(error * logits) / sentences`` in V, W, F, where ``error`` is the loss's slope in the logits.

    Args:
        attended: what :func:`layers` gave at these weights.
        layers_too: also the slopes in V and F; without it they are returned as zeros.
    """
    slope = error / len(counts)
    query_key = counts.by_last(counts.gram(slope @ (weights.value + weights.feed_forward)))
    if not layers_too:
        return Weights(torch.zeros_like(weights.value), query_key, torch.zeros_like(weights.feed_forward))
    value = slope.mT @ attended
    return Weights(value, query_key, counts.by_last(slope).mT + value)
