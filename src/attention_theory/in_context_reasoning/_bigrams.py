"""Counts of words and of bigrams, all that linear attention sees of a sentence.

With σ the identity the attended sum of Eq. (1) is ``sum_h x_h x_h^T W^T x_H``, and so a product with the Gram matrix
``sum_h x_h x_h^T`` of the sentence. In the codes of a word and of the word before it that matrix holds counts alone: of
words and of words before on two diagonals, and of bigrams between the two. It is the same at every step, so sentences
that are seen again and again are counted once, however long they are.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag

from attention_theory.in_context_reasoning.model import LayerLogits, Weights


@dataclass(frozen=True)
class Bigrams:
    """The Gram matrices of sentences over N words, with 2N codes; the same number of entries in each, sorted by rows.

    Attributes:
        columns: the columns of the entries.
        entries: the entries. A bigram that occurs twice is two ones in one place.
        bounds: where each row begins among the entries; the first row begins at 0, and the last ends at the end.
        last: the two codes in ``x_H``: of the last word, and N plus that of the word before it.
    """

    columns: Int[Tensor, "sentences entries"]
    entries: Float[Tensor, "sentences entries"]
    bounds: Int[Tensor, "sentences codes"]
    last: Int[Tensor, "sentences 2"]

    def __len__(self) -> int:
        return len(self.last)

    def pick(self, rows: Int[Tensor, " picked"]) -> "Bigrams":
        """Some of the sentences, by their numbers."""
        parts = (self.columns, self.entries, self.bounds, self.last)
        return Bigrams(*(part.index_select(0, rows) for part in parts))  # whole rows, several times faster

    @classmethod
    def count(cls, tokens: Int[Tensor, "sentences length"], size: int, dtype: torch.dtype = torch.float64) -> "Bigrams":
        """The bigrams of sentences over ``size`` words."""
        words, before = tokens[:, 1:], size + tokens[:, :-1]
        diagonal = torch.arange(2 * size, device=tokens.device).expand(len(tokens), -1)
        counts = torch.zeros(len(tokens), 2 * size, dtype=dtype, device=tokens.device)
        for codes in (tokens, before):
            counts.scatter_add_(1, codes, torch.ones_like(codes, dtype=dtype))
        ones = torch.ones_like(words, dtype=dtype)
        rows, order = torch.cat([words, before, diagonal], dim=1).sort(dim=1, stable=True)
        columns = torch.cat([before, words, diagonal], dim=1).gather(1, order).int()
        entries = torch.cat([ones, ones, counts], dim=1).gather(1, order)
        bounds = torch.searchsorted(rows, diagonal.contiguous()).int()
        return cls(columns, entries, bounds, torch.stack([tokens[:, -1], before[:, -1]], dim=1))

    @cached_property
    def _matrix(self) -> Tensor:
        """The Gram matrices as the blocks of one sparse matrix."""
        count, codes = self.bounds.shape
        first = torch.arange(count, dtype=torch.int32, device=self.last.device)[:, None]
        starts = (self.bounds + self.columns.shape[1] * first).flatten()
        end = starts.new_tensor([self.columns.numel()])
        columns = (self.columns + codes * first).flatten()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # PyTorch calls its sparse matrices a trial
            sizes = (count * codes, count * codes)
            return torch.sparse_csr_tensor(torch.cat([starts, end]), columns, self.entries.flatten(), sizes)

    def gram(self, vectors: Float[Tensor, "models sentences codes"]) -> Float[Tensor, "models sentences codes"]:
        """``(sum_h x_h x_h^T) v`` for one vector v per model and sentence."""
        rows = vectors.permute(1, 2, 0).contiguous()  # models side by side, as every product here has them
        return (self._matrix @ rows.flatten(0, 1)).view(rows.shape).permute(2, 0, 1)

    def at_last(self, matrix: Float[Tensor, "models codes features"]) -> Float[Tensor, "models sentences features"]:
        """``x_H^T matrix``, one row per sentence."""
        rows = matrix.permute(1, 2, 0).contiguous()
        sums = embedding_bag(self.last, rows.flatten(1), mode="sum")
        return sums.view(-1, *rows.shape[1:]).permute(2, 0, 1)

    def by_last(self, values: Float[Tensor, "models sentences features"]) -> Float[Tensor, "models codes features"]:
        """The sum over the sentences of ``x_H values^T``."""
        rows = values.permute(1, 2, 0).contiguous()
        total = rows.new_zeros(self.bounds.shape[1], *rows.shape[1:])
        return total.index_add_(0, self.last[:, 0], rows).index_add_(0, self.last[:, 1], rows).permute(2, 0, 1)

    def attend(self, weights: Weights) -> Float[Tensor, "models sentences codes"]:
        """The attended sums of stacked linear models (Eq. 1; weights in the codes)."""
        return self.gram(self.at_last(weights.query_key)).contiguous()

    def layers(self, weights: Weights) -> LayerLogits:
        """The logits ξ_A and ξ_F of models with FA."""
        attended = self.attend(weights)
        of_last = self.at_last(weights.feed_forward.mT)
        attention, feed_forward = (attended @ matrix.mT for matrix in (weights.value, weights.feed_forward))
        return LayerLogits(attention, of_last + feed_forward)

    def logits(
        self, weights: Weights, attended: Float[Tensor, "models sentences codes"]
    ) -> Float[Tensor, "models sentences words"]:
        """The logits ξ of :meth:`layers` without those of the layers: one product where these take two."""
        return attended @ (weights.value + weights.feed_forward).mT + self.at_last(weights.feed_forward.mT)

    def gradients(
        self,
        weights: Weights,
        attended: Float[Tensor, "models sentences codes"],
        error: Float[Tensor, "models sentences words"],
        layers: bool = True,
    ) -> Weights:
        """The gradient of ``sum(error * logits) / sentences`` in V, W, F, as :meth:`Architecture.gradients` gives it.

        Args:
            attended: of :meth:`attend` at these weights.
            error: the gradient of the loss in the logits.
            layers: also the gradients in V and F; without it they are returned as zeros.
        """
        slope = error / len(self)
        query_key = self.by_last(self.gram(slope @ (weights.value + weights.feed_forward)))
        if not layers:
            return Weights(torch.zeros_like(weights.value), query_key, torch.zeros_like(weights.feed_forward))
        value = slope.mT @ attended
        return Weights(value, query_key, self.by_last(slope).mT + value)
