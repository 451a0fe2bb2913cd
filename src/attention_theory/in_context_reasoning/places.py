"""Sums over the words of sentences, by look-ups that are worked out once for all models that share the sentences.

In the codes of a word and of the word before it, ``x_h`` has two ones: at ``z_h`` and at ``N + z_{h-1}``. So the
products with the 0/1 matrix of all ``x_h``, with that of the last ones alone, and with the transposes of the two are
sums of picked rows. The models, if there are several, lie side by side in a row, so that one look-up serves them all.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag, pad


class Places:
    """Which codes stand where in sentences over ``size`` words.

    Args:
        tokens: the sentences, one a row.
        size: N, words of the vocabulary; there are ``2 * size`` codes.
    """

    def __init__(self, tokens: Int[Tensor, "sentences length"], size: int) -> None:
        self.count, self.length = tokens.shape
        self.codes = 2 * size
        first = torch.arange(self.count, device=tokens.device)[:, None]
        words, before = self.codes * first + tokens, self.codes * first + size + tokens[:, :-1]
        nothing = self.codes * self.count  # the first word has none before it
        self._pairs = torch.stack([words, pad(before, (1, 0), value=nothing)], dim=-1).flatten(0, 1)
        positions = torch.cat([_sorted(tokens), _sorted(tokens[:, :-1]) + 1], dim=1)
        self._order = (self.length * first + positions).flatten()
        self._bounds = _bounds(torch.cat([words, before], dim=1), nothing)
        self._last = torch.stack([tokens[:, -1], size + tokens[:, -2]], dim=1)
        self._by_last = self._last.T.flatten().sort(stable=True).indices % self.count
        self._last_bounds = _bounds(self._last, self.codes)

    def __len__(self) -> int:
        return self.count

    def read(self, lookup: Float[Tensor, "... sentences codes"]) -> Float[Tensor, "... sentences length"]:
        """``<lookup, x_h>`` at every position: the entry at the word plus that at the word before it."""
        stacked = lookup.reshape(-1, *lookup.shape[-2:]).permute(1, 2, 0)
        rows = stacked.new_empty(self.count * self.codes + 1, stacked.shape[-1])
        rows[-1] = 0
        rows[:-1].view(stacked.shape).copy_(stacked)
        sums = embedding_bag(self._pairs, rows, mode="sum")
        return _models_first(sums.unflatten(0, (-1, self.length)), lookup)

    def write(self, values: Float[Tensor, "... sentences length"]) -> Float[Tensor, "... sentences codes"]:
        """The sum of ``values[h] * x_h``: the values collected by word and by the word before."""
        sums = _sums(_models_last(values).flatten(0, 1), self._order, self._bounds)
        return _models_first(sums.unflatten(0, (-1, self.codes)), values)

    def at_last(self, matrix: Float[Tensor, "... codes features"]) -> Float[Tensor, "... sentences features"]:
        """``x_H^T matrix``, a row a sentence."""
        rows = _models_last(matrix)
        return _models_first(embedding_bag(self._last, rows.flatten(1), mode="sum").view(-1, *rows.shape[1:]), matrix)

    def by_last(self, values: Float[Tensor, "... sentences features"]) -> Float[Tensor, "... codes features"]:
        """The sum over the sentences of ``x_H values^T``."""
        rows = _models_last(values)
        sums = _sums(rows.flatten(1), self._by_last, self._last_bounds)
        return _models_first(sums.view(-1, *rows.shape[1:]), values)


def _sorted(tokens: Int[Tensor, "sentences length"]) -> Int[Tensor, "sentences length"]:
    """The positions of each sentence sorted by their words; on a CPU by NumPy, which sorts small numbers faster."""
    if tokens.device.type != "cpu":
        return tokens.sort(dim=1, stable=True).indices
    return torch.from_numpy(np.argsort(tokens.numpy().astype(np.int16), axis=1, kind="stable"))


def _models_last(values: Tensor) -> Float[Tensor, "rows columns models"]:
    return values.reshape(-1, *values.shape[-2:]).permute(1, 2, 0).contiguous()


def _models_first(values: Tensor, like: Tensor) -> Tensor:
    return values.permute(2, 0, 1).unflatten(0, like.shape[:-2]) if like.ndim > 2 else values[..., 0]


def _bounds(groups: Int[Tensor, "..."], count: int) -> Int[Tensor, " bounds"]:
    """Where each of ``count`` groups begins among the sorted ones, and the end of the last."""
    return pad(torch.bincount(groups.flatten(), minlength=count).cumsum(0), (1, 0))


def _sums(rows: Tensor, order: Int[Tensor, " entries"], bounds: Int[Tensor, " bounds"]) -> Tensor:
    return embedding_bag(order, rows, bounds, mode="sum", include_last_offset=True)
