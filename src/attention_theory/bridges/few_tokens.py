"""The rank of HyperAttention's features on inputs of few tokens (Bridge 7).

Over all tuples the features span a representation of the invertible matrices of width d in which no irreducible part
comes twice. Each part has a shape, a partition; what ``n`` tokens reach are the parts whose shape has at most ``n``
rows. Over ordered tuples a part may come several times, and the rank counts words with fewer than ``n`` descents.
"""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import combinations_with_replacement

from attention_theory.validation import require

#: A partition, as rows that do not grow.
_Shape = tuple[int, ...]


def _partitions(total: int, largest: int) -> Iterator[_Shape]:
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        yield from ((first, *rest) for rest in _partitions(total - first, first))


def feature_shapes(order: int) -> list[_Shape]:
    """The shapes of the features of an order ``s``: partitions of ``2 s - 1`` in which exactly one row is odd.

    Raises:
        ParameterError: an order below 2.
    """
    require(order=(order, 2, None))
    return [one for one in _partitions(2 * order - 1, 2 * order - 1) if sum(row % 2 for row in one) == 1]


def shape_dimension(shape: _Shape, width: int) -> int:
    """The dimension of a shape's part at a width d: the product of ``d + column - row`` over that of the hooks.

    Raises:
        ParameterError: a width below 1.
    """
    require(width=(width, 1, None))
    columns = [sum(row > place for row in shape) for place in range(max(shape, default=0))]
    cells = [(row, column) for row, length in enumerate(shape) for column in range(length)]
    hooks = (shape[row] - column + columns[column] - row - 1 for row, column in cells)
    return math.prod(width + column - row for row, column in cells) // math.prod(hooks)


def rank_on_tokens(width: int, order: int, tokens: int) -> int:
    """The rank over all tuples of the features of all inputs of so many tokens, the query among them.

    It is the full one, :func:`.hyper_feature_count`, if and only if the tokens are as many as the order or the width.

    Raises:
        ParameterError: a width or tokens below 1, or an order below 2.
    """
    require(tokens=(tokens, 1, None))
    return sum(shape_dimension(shape, width) for shape in feature_shapes(order) if len(shape) <= tokens)


def ordered_rank_on_tokens(width: int, order: int, tokens: int) -> int:
    """The rank over ordered tuples (``le``) of the features of all inputs of so many tokens, the query among them.

    It counts words over d letters: ``s - 1`` pairs, each in alphabetical order, and one more letter, such that fewer
    than ``tokens`` pairs end in a later letter than what follows begins with.

    Raises:
        ParameterError: a width or tokens below 1, or an order below 2.
    """
    require(width=(width, 1, None), order=(order, 2, None), tokens=(tokens, 1, None))
    pairs = list(combinations_with_replacement(range(width), 2))
    slots = [*[pairs] * (order - 1), [(letter, letter) for letter in range(width)]]
    words = Counter({(0, 0): 1})  # by their last letter and the number of descents
    for slot in slots:
        longer: Counter[tuple[int, int]] = Counter()
        for (last, descents), many in words.items():
            for first, end in slot:
                longer[end, descents + (last > first)] += many
        words = longer
    return sum(many for (_, descents), many in words.items() if descents < tokens)
