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
        tokens: the sentences, one a row, that all models share; or a set of them for each of the stacked models.
        size: N, words of the vocabulary; there are ``2 * size`` codes.
        in_order: whether sums are sorted before they are taken, so that threads cannot race for them; where none is
            given, on any device but a CPU. Both ways add the same numbers in the same order.
    """

    def __init__(
        self, tokens: Int[Tensor, "*models sentences length"], size: int, in_order: bool | None = None
    ) -> None:
        self.count, self.length = tokens.shape[-2:]
        self.codes = 2 * size
        self._sets = tokens.shape[0] if tokens.ndim == 3 else 0  # 0: one set, of all models
        rows = tokens.flatten(0, -2)
        first = torch.arange(len(rows), device=tokens.device)[:, None]
        self._words = (self.codes * first + rows).flatten()
        self._before = (self.codes * first + size + rows[:, :-1]).flatten()  # the first word has none before it
        self._order: tuple[Tensor, Tensor] | None = None
        if tokens.device.type != "cpu" if in_order is None else in_order:
            positions = torch.cat([_sorted(rows), _sorted(rows[:, :-1]) + 1], dim=1)
            both = torch.cat([self._words, self._before])
            self._order = (self.length * first + positions).flatten(), _bounds(both, self.codes * len(rows))
        self._last = torch.stack([rows[:, -1], size + rows[:, -2]], dim=1)
        if self._sets:
            self._last += self.codes * (first // self.count)
        self._by_last = self._last.T.flatten().sort(stable=True).indices % len(rows)
        self._last_bounds = _bounds(self._last, self.codes * max(1, self._sets))

    def __len__(self) -> int:
        return self.count

    def read(self, lookup: Float[Tensor, "... sentences codes"]) -> Float[Tensor, "... sentences length"]:
        """``<lookup, x_h>`` at every position: the entry at the word plus that at the word before it."""
        rows = len(self._last)
        entries = lookup.reshape(-1, rows * self.codes)
        sums = entries.index_select(1, self._words).view(-1, rows, self.length)
        sums[..., 1:] += entries.index_select(1, self._before).view(-1, rows, self.length - 1)
        return sums.view(*lookup.shape[:-1], self.length)

    def write(self, values: Float[Tensor, "... sentences length"]) -> Float[Tensor, "... sentences codes"]:
        """The sum of ``values[h] * x_h``: the values collected by word and by the word before."""
        rows = len(self._last)
        models = values.reshape(-1, rows, self.length)
        if self._order is None:
            both = torch.cat([models.flatten(1), models[..., 1:].flatten(1)], dim=1)
            codes = torch.cat([self._words, self._before]).expand(len(models), -1)
            sums = values.new_zeros(len(models), rows * self.codes).scatter_add_(1, codes, both)
        else:
            sums = _sums(_models_last(models).flatten(0, 1), *self._order).T
        return sums.reshape(*values.shape[:-1], self.codes)

    def at_last(self, matrix: Float[Tensor, "... codes features"]) -> Float[Tensor, "... sentences features"]:
        """``x_H^T matrix``, a row a sentence."""
        if self._sets:
            sums = embedding_bag(self._last, matrix.reshape(-1, matrix.shape[-1]), mode="sum")
            return sums.view(*matrix.shape[:-2], self.count, matrix.shape[-1])
        rows = _models_last(matrix)
        return _models_first(embedding_bag(self._last, rows.flatten(1), mode="sum").view(-1, *rows.shape[1:]), matrix)

    def by_last(self, values: Float[Tensor, "... sentences features"]) -> Float[Tensor, "... codes features"]:
        """The sum over the sentences of ``x_H values^T``."""
        if self._sets:
            sums = _sums(values.reshape(-1, values.shape[-1]), self._by_last, self._last_bounds)
            return sums.view(*values.shape[:-2], self.codes, values.shape[-1])
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
