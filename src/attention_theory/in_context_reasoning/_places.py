"""Sums over the words of sentences, by look-ups that are worked out once for all models that share the sentences.

In the codes of a word and of the word before it, ``x_h`` has two ones: at ``z_h`` and at ``N + z_{h-1}``. So the
products with the 0/1 matrix of all ``x_h``, with that of the last ones alone, and with the transposes of the two are
sums of picked rows. One look-up serves all models, which may be several.
"""

from collections.abc import Callable
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

#: From so many models on, in float32 on a CPU, one look-up of a row of models is faster than one look-up per model.
_ABREAST = 4


class Places:
    """The codes at the positions of sentences over ``size`` words.

    Args:
        tokens: the sentences, as rows, that all models share; or several sets of them. Then the stacked models are
            as many for each set, those of all sets in turn: the first of each, the second of each, ... What is looked
            up for them has the models of one set in front, and the sentences of all sets below each other.
        size: N, words of the vocabulary; there are ``2 * size`` codes.
        in_order: whether sums are sorted before they are taken, so that threads cannot race for them; where none is
            given, on any device but a CPU, and on a CPU where that is faster. Both ways add the same numbers in the
            same order.
        order: gives what :meth:`sort` gives, where it is known, as it is of sentences that are seen again.
    """

    def __init__(
        self,
        tokens: Int[Tensor, "*sets sentences length"],
        size: int,
        in_order: bool | None = None,
        order: Callable[[], tuple[Tensor, Tensor]] | None = None,
    ) -> None:
        self.count, self.length = tokens.shape[-2:]
        self.codes = 2 * size
        self.sets = tokens.shape[0] if tokens.ndim == 3 else 0  # 0: one set, of all models
        self._rows = tokens.flatten(0, -2)
        self.size = size
        self._in_order = in_order
        self._known = order
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
        positions, counts = self._known() if self._known else self.sort(self._rows, self.size)
        return (positions + self.length * self._first).flatten(), _starts(counts)

    @cached_property
    def _at_last(self) -> "_Groups":
        """The two codes of every sentence's last word."""
        return _Groups(self._last.flatten(), torch.arange(0, self._last.numel() + 1, 2, device=self._last.device))

    @cached_property
    def _by_last(self) -> "_Groups":
        """The sentences by the codes of their last words."""
        order = self._last.T.flatten().sort(stable=True).indices % len(self._last)
        return _Groups(order, _bounds(self._last, self.codes * max(1, self.sets)))

    @staticmethod
    def sort(
        rows: Int[Tensor, "sentences length"], size: int
    ) -> tuple[Int[Tensor, "sentences places"], Int[Tensor, "sentences 2 size"]]:
        """The positions of sentences sorted by their codes, words, then words before; and each code's count.

        Positions count from the sentence's first word; the word before a position is counted there.
        """
        positions = torch.cat([_sorted(rows), _sorted(rows[:, :-1]) + 1], dim=1)
        words = rows + size * torch.arange(len(rows), device=rows.device)[:, None]
        counts = torch.bincount(words.flatten(), minlength=size * len(rows)).view(len(rows), 1, size).repeat(1, 2, 1)
        counts[:, 1].scatter_add_(1, rows[:, -1:], counts.new_full((len(rows), 1), -1))  # no word follows the last
        return positions, counts

    @staticmethod
    def is_abreast(values: Float[Tensor, "... rows features"]) -> bool:
        """Test whether there are so many models that sums are taken with the models on the last axis of all."""
        return values.shape[:-2].numel() >= _ABREAST and values.dtype == torch.float32 and values.device.type == "cpu"

    def read(self, lookup: Float[Tensor, "... rows codes"]) -> Float[Tensor, "... all_rows length"]:
        """``<lookup, x_h>`` at every position: the entry at the word plus that at the word before it."""
        models = self._stacked(lookup, len(self._rows))
        if self.is_abreast(models):
            sums = _sums(_models_last(models).flatten(0, 1), *self._pairs)
            return self._by_model(sums.view(len(self._rows), self.length, -1), lookup)
        entries = models.flatten(1)
        sums = entries.index_select(1, self._words.flatten()).view(len(models), -1, self.length)
        sums[..., 1:] += entries.index_select(1, self._before.flatten()).view(len(models), -1, self.length - 1)
        return self._like(sums, lookup)

    def write(self, values: Float[Tensor, "... rows length"]) -> Float[Tensor, "... all_rows codes"]:
        """The sum of ``values[h] * x_h``: the values collected by word and by the word before."""
        models = self._stacked(values, len(self._rows))
        sort = self.is_abreast(models) or values.device.type != "cpu"
        if sort if self._in_order is None else self._in_order:
            sums = _sums(_models_last(models).flatten(0, 1), *self._order)
            return self._by_model(sums.view(len(self._rows), self.codes, -1), values)
        both = torch.cat([models.flatten(1), models[..., 1:].flatten(1)], dim=1)
        codes = torch.cat([self._words.flatten(), self._before.flatten()]).expand(len(models), -1)
        sums = values.new_zeros(len(models), len(self._rows) * self.codes).scatter_add_(1, codes, both)
        return self._like(sums.view(len(models), -1, self.codes), values)

    def at_last(self, matrix: Float[Tensor, "... codes features"]) -> Float[Tensor, "... all_rows features"]:
        """``x_H^T matrix``, one row per sentence."""
        return self._like(self._at_last.sums(self._stacked(matrix, self.codes * max(1, self.sets))), matrix)

    def by_last(self, values: Float[Tensor, "... rows features"]) -> Float[Tensor, "... codes features"]:
        """The sum over the sentences of ``x_H values^T``, a matrix for every model."""
        models = self._stacked(values, len(self._rows))
        sums = self._by_last.sums(models.contiguous() if self.sets else models)
        return self.by_set(self._like(sums, values), self.codes)

    def by_set(self, values: Float[Tensor, "... all_rows features"], rows: int | None = None) -> Tensor:
        """Values found, with the models of all sets in front and the sentences of one, or that many rows, below."""
        return values.reshape(-1, rows or self.count, values.shape[-1]) if self.sets else values

    def _stacked(self, values: Float[Tensor, "... _ columns"], rows: int) -> Float[Tensor, "models all_rows columns"]:
        """One axis of models, those of one set, and below each other the rows of all sets: so many."""
        return values.reshape(-1, rows, values.shape[-1])

    def _by_model(self, sums: Float[Tensor, "all_rows features models"], like: Tensor) -> Tensor:
        """The models in front; a view."""
        return self._like(sums.permute(2, 0, 1), like)

    def _like(self, models: Float[Tensor, "models all_rows features"], like: Tensor) -> Tensor:
        """The leading axes of ``like``, where all models share the sentences."""
        return models if self.sets else models.view(*like.shape[:-2], *models.shape[1:])


class _Groups:
    """Groups of rows: their numbers, group after group, and where each group begins, and the end of the last."""

    def __init__(self, rows: Int[Tensor, " entries"], bounds: Int[Tensor, " bounds"]) -> None:
        self._rows, self._bounds = rows, bounds
        self._of_models: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    def sums(self, models: Float[Tensor, "models _ features"]) -> Float[Tensor, "models groups features"]:
        """The sum of every group, of each model's rows; taken as these lie in memory, for to turn them costs more."""
        if models.stride(0) == 1 and len(models) > 1:
            beside = models.permute(1, 2, 0)
            return _sums(beside.flatten(1), self._rows, self._bounds).view(-1, *beside.shape[1:]).permute(2, 0, 1)
        below = _sums(models.flatten(0, 1), *self._below(len(models), models.shape[1]))
        return below.view(len(models), -1, models.shape[2])

    def _below(self, models: int, count: int) -> tuple[Tensor, Tensor]:
        """The groups of several models whose rows, so many of each, are below each other."""
        if (models, count) not in self._of_models:
            model = torch.arange(models, device=self._rows.device)[:, None]
            bounds = (self._bounds[:-1] + len(self._rows) * model).flatten()
            rows = (self._rows + count * model).flatten()
            self._of_models[models, count] = rows, pad(bounds, (0, 1), value=len(rows))
        return self._of_models[models, count]


def _sorted(tokens: Int[Tensor, "sentences length"]) -> Int[Tensor, "sentences length"]:
    """The positions of each sentence sorted by their words."""
    if tokens.device.type != "cpu":
        return tokens.sort(dim=1, stable=True).indices
    narrow = tokens.to(torch.int16 if tokens.max() < 2**15 else torch.int64)  # numpy sorts 16 bits by their digits
    return torch.from_numpy(narrow.numpy().argsort(axis=1, kind="stable"))


def _models_last(values: Float[Tensor, "models rows columns"]) -> Float[Tensor, "rows columns models"]:
    return values.permute(1, 2, 0).contiguous()


def _bounds(groups: Int[Tensor, "..."], count: int) -> Int[Tensor, " bounds"]:
    """Starts of each of ``count`` groups among the sorted ones, and the end of the last."""
    return _starts(torch.bincount(groups.flatten(), minlength=count))


def _starts(counts: Int[Tensor, "..."]) -> Int[Tensor, " bounds"]:
    """Starts of each of several groups that have so many each, and the end of the last."""
    return pad(counts.flatten().cumsum(0), (1, 0))


def _sums(rows: Tensor, order: Int[Tensor, " entries"], bounds: Int[Tensor, " bounds"]) -> Tensor:
    """The sum of the rows of every group; called without ``torch.nn.functional``, whose checks cost a tenth of it."""
    return torch.embedding_bag(rows, order, bounds, include_last_offset=True)[0]
