"""Linear-attention heads written as index blocks over named rows, evaluated only where they are not zero.

The word *row* has the paper's meaning, a coordinate of a token; :class:`attention_theory.rows.Rows` names them. In
tensors the coordinates are the last axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int, Num
from torch import Tensor

from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.validation import require, require_shape, require_some


@dataclass(frozen=True)
class BlockHead:
    """One head whose matrices hold a single block each.

    ``Q[key[i], source[i]] = 1`` and ``V[destination[i], value[i]] = weight``, or ``weight[i]`` if there are several;
    everything else is zero. A partial function between alphabets is such a list of pairs (the matrix ``G_f`` in the
    proof of Lemma C.1).
    """

    source: Int[Tensor, " queries"]
    key: Int[Tensor, " _queries"]
    value: Int[Tensor, " moves"]
    destination: Int[Tensor, " _moves"]
    weight: int | Int[Tensor, " _moves"] = 1

    def __post_init__(self) -> None:
        if len(self.source) != len(self.key) or len(self.value) != len(self.destination):
            raise ValueError("a head needs as many keys as sources and as many destinations as values")
        for first, second in ((self.source, self.key), (self.value, self.destination)):
            if len(torch.stack([first, second]).unique(dim=1).T) < len(first):
                raise ValueError("a head holds an entry of a matrix once")

    @property
    def weights(self) -> Int[Tensor, " _moves"]:
        """The entry of V for every pair of value and destination."""
        return torch.as_tensor(self.weight, device=self.value.device).expand(len(self.value))


def dense(heads: Sequence[BlockHead], width: int) -> Heads:
    """The matrices of all heads written out, for small widths."""
    device = heads[0].source.device
    stacked = Heads(*torch.zeros(2, len(heads), width, width, dtype=torch.float64, device=device).unbind())
    for number, head in enumerate(heads):
        stacked.values[number, head.destination, head.value] = head.weights.to(stacked.values.dtype)
        stacked.queries[number, head.key, head.source] = 1
    return stacked


class BlockLayer:
    """One layer of heads (Eq. 2) that is run autoregressively (Eqs. 21-22), exactly.

    The heads are kept as two sorted lists of links, ``source -> key`` and ``value -> destination``. The cost of a step
    grows with the entries that are not zero, not with the width or the heads.

    Raises:
        ParameterError: a width below 1, or no head.
    """

    def __init__(self, heads: Sequence[BlockHead], width: int) -> None:
        require(width=(width, 1, None))
        require_some(heads=heads)
        self.width = width
        self.heads = len(heads)
        device = heads[0].source.device
        number = torch.arange(len(heads), device=device)
        self._queries = _Links(
            group=torch.cat([head.source for head in heads]),
            groups=width,
            head=number.repeat_interleave(torch.tensor([len(head.source) for head in heads], device=device)),
            key=torch.cat([head.key for head in heads]),
        )
        moves = torch.tensor([len(head.value) for head in heads], device=device)
        self._moves = _Links(
            group=number.repeat_interleave(moves),
            groups=len(heads),
            value=torch.cat([head.value for head in heads]),
            destination=torch.cat([head.destination for head in heads]),
            weight=torch.cat([head.weights for head in heads]),
        )

    def run(self, prompt: Num[Tensor, "batch tokens width"], steps: int) -> Num[Tensor, "batch longer width"]:
        """The prompt with ``steps`` more tokens, each computed from all tokens before it.

        The prompt lies where the heads do. The result keeps its type: ``int8`` suffices for programs, ``float64``
        shows what overflows.

        Raises:
            ParameterError: the prompt's width is not the layer's, or ``steps`` is negative.
            OverflowError: an entry does not fit into the prompt's type.
        """
        require(steps=(steps, 0, None))
        require_some(prompt=prompt)
        require_shape(prompt=(prompt, (None, None, self.width)))
        batch, tokens, width = prompt.shape
        history = torch.zeros(width, batch, tokens + steps, dtype=prompt.dtype, device=prompt.device)
        history[:, :, :tokens] = prompt.permute(2, 0, 1)
        row, sequence = history[:, :, tokens - 1].nonzero(as_tuple=True)
        for length in range(tokens, tokens + steps):
            entries = history[row, sequence, length - 1]
            row, sequence, entries = self._next(history[:, :, :length], row, sequence, entries)
            history[row, sequence, length] = entries
        return history.permute(1, 2, 0)

    def _next(
        self,
        history: Num[Tensor, "width batch tokens"],
        row: Int[Tensor, " entries"],
        sequence: Int[Tensor, " entries"],
        entries: Num[Tensor, " entries"],
    ) -> tuple[Int[Tensor, " new"], Int[Tensor, " new"], Num[Tensor, " new"]]:
        """The non-zero entries of the next token of every sequence, from those of the last one."""
        exact = entries.dtype if entries.is_floating_point() else torch.int64
        asked, link = self._queries.follow(row)
        keys = history[self._queries["key"][link], sequence[asked]]
        answer, token = keys.nonzero(as_tuple=True)
        score = entries[asked[answer]].to(exact) * keys[answer, token].to(exact)
        read, move = self._moves.follow(self._queries["head"][link[answer]])
        sequence = sequence[asked[answer[read]]]
        values = history[self._moves["value"][move], sequence, token[read]].to(exact)
        amount = score[read] * self._moves["weight"][move].to(exact) * values
        place = self._moves["destination"][move] * history.shape[1] + sequence
        places, which = place.unique(return_inverse=True)
        result = torch.zeros(len(places), dtype=exact, device=places.device).index_add_(0, which, amount)
        stored = result.to(history.dtype)
        if not torch.equal(stored.to(exact), result):
            raise OverflowError(f"an entry as large as {result.abs().max().item()} does not fit into {history.dtype}")
        kept = stored != 0
        places = places[kept]
        return places // history.shape[1], places % history.shape[1], stored[kept]


class _Links:
    """Links sorted by the group they start from, so that all links of many groups are found without a search."""

    def __init__(self, group: Int[Tensor, " links"], groups: int, **columns: Int[Tensor, " links"]) -> None:
        order = torch.argsort(group, stable=True)
        self._columns = {name: column[order] for name, column in columns.items()}
        self._count = torch.bincount(group, minlength=groups)

    def __getitem__(self, column: str) -> Int[Tensor, " links"]:
        return self._columns[column]

    def follow(self, groups: Int[Tensor, " items"]) -> tuple[Int[Tensor, " members"], Int[Tensor, " members"]]:
        """For the links that leave ``groups``: the item each one comes from, and its place in the sorted lists."""
        return follow(self._count, groups)


def follow(
    count: Int[Tensor, " groups"], group: Int[Tensor, " items"]
) -> tuple[Int[Tensor, " members"], Int[Tensor, " members"]]:
    """For lists sorted by group, ``count`` long each: every item with all members of its group."""
    start, many = count.cumsum(0) - count, count[group]
    item = torch.arange(len(group), device=group.device).repeat_interleave(many)
    first = many.cumsum(0) - many
    return item, start[group][item] + torch.arange(len(item), device=item.device) - first[item]
