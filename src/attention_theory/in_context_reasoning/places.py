"""Sums over the words of sentences, by look-ups that are worked out once for all models that share the sentences.

In the codes of a word and of the word before it, ``x_h`` has two ones: at ``z_h`` and at ``N + z_{h-1}``. So the
products with the 0/1 matrix of all ``x_h``, with that of the last ones alone, and with the transposes of the two are
sums of picked rows. One look-up serves all models, which may be several.
"""

from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag, pad

#: From so many models on, in float32 on a CPU, one look-up of a row of models is faster than one look-up a model.
ABREAST = 4


class Places:
    """Which codes stand where in sentences over ``size`` words.

    Args:
        tokens: the sentences, one a row, that all models share; or several sets of them. Then the stacked models are
            as many for each set, those of all sets in turn: the first of each, the second of each, ...
        size: N, words of the vocabulary; there are ``2 * size`` codes.
        in_order: whether sums are sorted before they are taken, so that threads cannot race for them; where none is
            given, on any device but a CPU, and on a CPU where that is faster. Both ways add the same numbers in the
            same order.
    """

    def __init__(self, tokens: Int[Tensor, "*sets sentences length"], size: int, in_order: bool | None = None) -> None:
        self.count, self.length = tokens.shape[-2:]
        self.codes = 2 * size
        self.sets = tokens.shape[0] if tokens.ndim == 3 else 0  # 0: one set, of all models
        self._rows = tokens.flatten(0, -2)
        self.size = size
        self._in_order = in_order
        self._first = torch.arange(len(self._rows), device=tokens.device)[:, None]
        self._last = torch.stack([self._rows[:, -1], size + self._rows[:, -2]], dim=1)
        if self.sets:
            self._last += self.codes * (self._first // self.count)

    def __len__(self) -> int:
        return self.count

    @cached_property
    def _words(self) -> Int[Tensor, "sentences length"]:
        return self.codes * self._first + self._rows

    @cached_property
    def _before(self) -> Int[Tensor, "sentences others"]:
        return self.codes * self._first + self.size + self._rows[:, :-1]  # the first word has none before it

    @cached_property
    def _pairs(self) -> tuple[Tensor, Tensor]:
        """The codes of every position, one after the other, and where each position's begin."""
        codes = self._rows.new_empty(len(self._rows), 2 * self.length - 1)
        torch.add(self._rows, self.codes * self._first, out=codes[:, ::2])
        torch.add(self._rows[:, :-1], self.codes * self._first + self.size, out=codes[:, 1::2])
        starts = (2 * torch.arange(self.length, device=codes.device) - 1).clamp_min(0)
        bounds = codes.new_full((codes.shape[0] * self.length + 1,), codes.numel())
        torch.add(starts, codes.shape[1] * self._first, out=bounds[:-1].view_as(self._rows))
        return codes.flatten(), bounds

    @cached_property
    def _order(self) -> tuple[Tensor, Tensor]:
        """The positions sorted by their codes, and where each code's begin."""
        positions = self._rows.new_empty(len(self._rows), 2 * self.length - 1)
        before = self.length * self._first
        torch.add(_sorted(self._rows), before, out=positions[:, : self.length])
        torch.add(_sorted(self._rows[:, :-1]), before + 1, out=positions[:, self.length :])
        words = self._rows + self.size * self._first
        counts = torch.bincount(words.flatten(), minlength=self.size * len(words)).view(len(words), 1, self.size)
        counts = counts.repeat(1, 2, 1)
        counts[:, 1].scatter_add_(1, self._rows[:, -1:], counts.new_full((len(words), 1), -1))  # no word comes after it
        return positions.flatten(), _starts(counts)

    @cached_property
    def _by_last(self) -> tuple[Tensor, Tensor]:
        """The sentences sorted by the codes of their last words, and where each code's begin."""
        order = self._last.T.flatten().sort(stable=True).indices % len(self._last)
        return order, _bounds(self._last, self.codes * max(1, self.sets))

    def is_abreast(self, values: Tensor) -> bool:
        """Whether the models stand beside each other in memory, on the last axis of all, where sums are taken."""
        many = values.shape[:-2].numel() >= ABREAST * max(1, self.sets)
        return many and values.dtype == torch.float32 and values.device.type == "cpu"

    def read(self, lookup: Float[Tensor, "... sentences codes"]) -> Float[Tensor, "... sentences length"]:
        """``<lookup, x_h>`` at every position: the entry at the word plus that at the word before it."""
        rows = len(self._last)
        if self.is_abreast(lookup):
            models = _models_last(lookup.reshape(-1, rows, self.codes))
            sums = _sums(models.flatten(0, 1), *self._pairs).view(rows, self.length, -1)
            return sums.permute(2, 0, 1).reshape(*lookup.shape[:-1], self.length)
        entries = lookup.reshape(-1, rows * self.codes)
        sums = entries.index_select(1, self._words.flatten()).view(-1, rows, self.length)
        sums[..., 1:] += entries.index_select(1, self._before.flatten()).view(-1, rows, self.length - 1)
        return sums.view(*lookup.shape[:-1], self.length)

    def write(self, values: Float[Tensor, "... sentences length"]) -> Float[Tensor, "... sentences codes"]:
        """The sum of ``values[h] * x_h``: the values collected by word and by the word before."""
        rows = len(self._last)
        models = values.reshape(-1, rows, self.length)
        sort = self.is_abreast(values) or values.device.type != "cpu"
        if sort if self._in_order is None else self._in_order:
            sums = _sums(_models_last(models).flatten(0, 1), *self._order).view(rows, self.codes, -1)
            return sums.permute(2, 0, 1).reshape(*values.shape[:-1], self.codes)
        both = torch.cat([models.flatten(1), models[..., 1:].flatten(1)], dim=1)
        codes = torch.cat([self._words.flatten(), self._before.flatten()]).expand(len(models), -1)
        sums = values.new_zeros(len(models), rows * self.codes).scatter_add_(1, codes, both)
        return sums.view(*values.shape[:-1], self.codes)

    def at_last(self, matrix: Float[Tensor, "... codes features"]) -> Float[Tensor, "... sentences features"]:
        """``x_H^T matrix``, a row a sentence."""
        sets = self._of_sets(matrix)
        sums = embedding_bag(self._last, sets.flatten(1), mode="sum")
        return self._by_model(sums, sets, matrix)

    def rows_at_last(self, matrix: Float[Tensor, "... codes features"]) -> Float[Tensor, "... sentences features"]:
        """:meth:`at_last` of one set of sentences, where each model's numbers lie together in memory."""
        word, before = self._last.T
        matrix = matrix.contiguous()
        return matrix.index_select(-2, word) + matrix.index_select(-2, before)

    def by_last(self, values: Float[Tensor, "... sentences features"]) -> Float[Tensor, "... codes features"]:
        """The sum over the sentences of ``x_H values^T``."""
        sets = self._of_sets(values)
        return self._by_model(_sums(sets.flatten(1), *self._by_last), sets, values)

    def _of_sets(self, values: Float[Tensor, "... rows features"]) -> Float[Tensor, "all_rows features models"]:
        """The models last, and the rows of all sets of sentences below each other."""
        return _models_last(values.reshape(-1, max(1, self.sets) * values.shape[-2], values.shape[-1]))

    def _by_model(self, sums: Tensor, sets: Tensor, like: Tensor) -> Float[Tensor, "... rows features"]:
        """Back to the leading axes of ``like``, a view where that is possible."""
        models = sums.view(-1, *sets.shape[1:]).permute(2, 0, 1)
        return models.reshape(*like.shape[:-2], -1, like.shape[-1])


def _sorted(tokens: Int[Tensor, "sentences length"]) -> Int[Tensor, "sentences length"]:
    """The positions of each sentence sorted by their words."""
    if tokens.device.type != "cpu":
        return tokens.sort(dim=1, stable=True).indices
    narrow = tokens.to(torch.int16 if tokens.max() < 2**15 else torch.int64)  # numpy sorts 16 bits by their digits
    return torch.from_numpy(narrow.numpy().argsort(axis=1, kind="stable"))


def _models_last(values: Tensor) -> Float[Tensor, "rows columns models"]:
    return values.reshape(-1, *values.shape[-2:]).permute(1, 2, 0).contiguous()


def _bounds(groups: Int[Tensor, "..."], count: int) -> Int[Tensor, " bounds"]:
    """Where each of ``count`` groups begins among the sorted ones, and the end of the last."""
    return _starts(torch.bincount(groups.flatten(), minlength=count))


def _starts(counts: Int[Tensor, "..."]) -> Int[Tensor, " bounds"]:
    """Where each of several groups begins that have so many each, and the end of the last."""
    return pad(counts.flatten().cumsum(0), (1, 0))


def _sums(rows: Tensor, order: Int[Tensor, " entries"], bounds: Int[Tensor, " bounds"]) -> Tensor:
    return embedding_bag(order, rows, bounds, mode="sum", include_last_offset=True)
