"""Linear attention as a recurrence: all that a layer knows of its tokens is ``G = Σ z z^T``.

The cost of a token, ``Σ_h V_h G Q_h z_n``, does not grow with the number of tokens before it.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int, Num
from torch import Tensor

from attention_theory.linear_attention.machines.block_heads import BlockHead, follow
from attention_theory.validation import require, require_shape, require_some


class RecurrentLayer:
    """One layer of block heads (Eq. 2), run autoregressively (Eqs. 21-22) on its memory G, exactly.

    Only the entries ``G[value, key]`` of rows that some head reads are kept. A *path* is one entry of a query matrix
    with one of the same head's value matrix, ``source -> key, value -> destination``.

    Raises:
        ParameterError: a width below 1, or no head.
    """

    def __init__(self, heads: Sequence[BlockHead], width: int) -> None:
        require(width=(width, 1, None))
        require_some(heads=heads)
        self.width = width
        self._keys = torch.cat([head.key for head in heads]).unique()
        self._values = torch.cat([head.value for head in heads]).unique()
        self._key_of, self._value_of = (_places(rows, width) for rows in (self._keys, self._values))
        source, place, destination, weight = (torch.cat(parts) for parts in zip(*map(self._paths, heads), strict=True))
        order = torch.argsort(source, stable=True)
        self._place, self._destination, self._weight = place[order], destination[order], weight[order]
        self._paths_of = torch.bincount(source, minlength=width)

    def _paths(self, head: BlockHead) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Source, place in the memory, destination and weight of every path of a head."""
        asks, answers = len(head.source), len(head.value)
        place = self._value_of[head.value] * len(self._keys) + self._key_of[head.key][:, None]
        return (
            head.source.repeat_interleave(answers),
            place.flatten(),
            head.destination.repeat(asks),
            head.weights.repeat(asks),
        )

    def run(self, prompt: Num[Tensor, "batch tokens width"], steps: int) -> Num[Tensor, "batch longer width"]:
        """The prompt with ``steps`` more tokens, in the prompt's type. The prompt lies where the heads do.

        Raises:
            ParameterError: the prompt's width is not the layer's, or ``steps`` is negative.
            OverflowError: an entry does not fit into the prompt's type, if that is one of whole numbers.
        """
        require(steps=(steps, 0, None))
        tokens = self.tokens(prompt)
        return torch.cat([prompt, *(next(tokens)[:, None] for _ in range(steps))], dim=1)

    def tokens(self, prompt: Num[Tensor, "batch tokens width"]) -> Iterator[Num[Tensor, "batch width"]]:
        """The tokens after the prompt, one after another and without end; none is kept.

        Raises:
            ParameterError: the prompt's width is not the layer's, or it has no token.
            OverflowError: an entry does not fit into the prompt's type, if that is one of whole numbers.
        """
        require_some(prompt=prompt)
        require_shape(prompt=(prompt, (None, None, self.width)))
        batch = len(prompt)
        exact = prompt.dtype if prompt.is_floating_point() else torch.int64
        memory = torch.zeros(batch, len(self._values) * len(self._keys), dtype=exact, device=prompt.device)
        for token in prompt.unbind(dim=1):
            entries = _entries(token.to(exact))
            self._remember(memory, *entries)
        while True:
            token = self._next(memory, *entries)
            stored = token.to(prompt.dtype)
            if exact != prompt.dtype and not torch.equal(stored.to(exact), token):
                raise OverflowError(f"an entry as large as {token.abs().max().item()} does not fit into {prompt.dtype}")
            entries = _entries(token)
            self._remember(memory, *entries)
            yield stored

    def _next(
        self, memory: Num[Tensor, "batch places"], sequence: Tensor, row: Tensor, amount: Tensor
    ) -> Num[Tensor, "batch width"]:
        """Σ over the paths that start at the token's entries: weight · G[value, key] · entry, into the destination."""
        entry, path = follow(self._paths_of, row)
        sequence = sequence[entry]
        found = memory[sequence, self._place[path]] * self._weight[path].to(memory.dtype) * amount[entry]
        token = torch.zeros(len(memory) * self.width, dtype=memory.dtype, device=memory.device)
        return token.index_add_(0, sequence * self.width + self._destination[path], found).unflatten(
            0, (-1, self.width)
        )

    def _remember(self, memory: Num[Tensor, "batch places"], sequence: Tensor, row: Tensor, amount: Tensor) -> None:
        """Add ``z z^T`` to the memory of every sequence, value rows by key rows."""
        keyed, valued = self._key_of[row] >= 0, self._value_of[row] >= 0
        keys, values = self._key_of[row[keyed]], self._value_of[row[valued]]
        keys_of = torch.bincount(sequence[keyed], minlength=len(memory))
        value, key = follow(keys_of, sequence[valued])
        place = values[value] * len(self._keys) + keys[key]
        memory[sequence[valued][value], place] += amount[valued][value] * amount[keyed][key]


def _places(rows: Int[Tensor, " rows"], width: int) -> Int[Tensor, " width"]:
    """The place of every row among ``rows``, -1 where it is not one of them."""
    places = torch.full((width,), -1, device=rows.device)
    places[rows] = torch.arange(len(rows), device=rows.device)
    return places


def _entries(
    token: Num[Tensor, "batch width"],
) -> tuple[Int[Tensor, " entries"], Int[Tensor, " entries"], Num[Tensor, " entries"]]:
    """Sequence, row and amount of everything that is not zero, by sequence."""
    sequence, row = token.nonzero(as_tuple=True)
    return sequence, row, token[sequence, row]
