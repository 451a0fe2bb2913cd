"""Sums over the words of sentences, by look-ups that are worked out once for all models that share the sentences.

In the codes of a word and of the word before it, ``x_h`` has two ones: at ``z_h`` and at ``N + z_{h-1}``. So the
products with the 0/1 matrix of all ``x_h``, with that of the last ones alone, and with the transposes of the two are
sums of picked rows. One look-up serves all models, which may be several.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag, pad


class Places:
    """Which codes stand where in sentences over ``size`` words.

    Args:
        tokens: the sentences, one a row.
        size: N, words of the vocabulary; there are ``2 * size`` codes.
        in_order: whether sums are sorted before they are taken, so that threads cannot race for them; where none is
            given, on any device but a CPU. Both ways add the same numbers in the same order.
    """

    def __init__(self, tokens: Int[Tensor, "sentences length"], size: int, in_order: bool | None = None) -> None:
        self.count, self.length = tokens.shape
        self.codes = 2 * size
        first = torch.arange(self.count, device=tokens.device)[:, None]
        self._words = (self.codes * first + tokens).flatten()
        self._before = (self.codes * first + size + tokens[:, :-1]).flatten()  # the first word has none before it
        self._order: tuple[Tensor, Tensor] | None = None
        if tokens.device.type != "cpu" if in_order is None else in_order:
            positions = torch.cat([_sorted(tokens), _sorted(tokens[:, :-1]) + 1], dim=1)
            both = torch.cat([self._words, self._before])
            self._order = (self.length * first + positions).flatten(), _bounds(both, self.codes * self.count)
        self._last = torch.stack([tokens[:, -1], size + tokens[:, -2]], dim=1)
        self._by_last = self._last.T.flatten().sort(stable=True).indices % self.count
        self._last_bounds = _bounds(self._last, self.codes)

    def __len__(self) -> int:
        return self.count

    def read(self, lookup: Float[Tensor, "... sentences codes"]) -> Float[Tensor, "... sentences length"]:
        """``<lookup, x_h>`` at every position: the entry at the word plus that at the word before it."""
        entries = lookup.reshape(-1, self.count * self.codes)
        sums = entries.index_select(1, self._words).view(-1, self.count, self.length)
        sums[..., 1:] += entries.index_select(1, self._before).view(-1, self.count, self.length - 1)
        return sums.view(*lookup.shape[:-1], self.length)

    def write(self, values: Float[Tensor, "... sentences length"]) -> Float[Tensor, "... sentences codes"]:
        """The sum of ``values[h] * x_h``: the values collected by word and by the word before."""
        if self._order is None:
            models = values.reshape(-1, self.count, self.length)
            both = torch.cat([models.flatten(1), models[..., 1:].flatten(1)], dim=1)
            codes = torch.cat([self._words, self._before]).expand(len(models), -1)
            sums = values.new_zeros(len(models), self.count * self.codes).scatter_add_(1, codes, both)
            return sums.view(*values.shape[:-1], self.codes)
        sums = _sums(_models_last(values).flatten(0, 1), *self._order)
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
    """The positions of each sentence sorted by their words."""
    return tokens.sort(dim=1, stable=True).indices


def _models_last(values: Tensor) -> Float[Tensor, "rows columns models"]:
    return values.reshape(-1, *values.shape[-2:]).permute(1, 2, 0).contiguous()


def _models_first(values: Tensor, like: Tensor) -> Tensor:
    return values.permute(2, 0, 1).unflatten(0, like.shape[:-2]) if like.ndim > 2 else values[..., 0]


def _bounds(groups: Int[Tensor, "..."], count: int) -> Int[Tensor, " bounds"]:
    """Where each of ``count`` groups begins among the sorted ones, and the end of the last."""
    return pad(torch.bincount(groups.flatten(), minlength=count).cumsum(0), (1, 0))


def _sums(rows: Tensor, order: Int[Tensor, " entries"], bounds: Int[Tensor, " bounds"]) -> Tensor:
    return embedding_bag(order, rows, bounds, mode="sum", include_last_offset=True)
