"""The heads of a built layer on columns of terms: which rows their scores depend on, and what they fetch.

A column has a term for every row. Rows of which a question says nothing are variables that may have any value.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from attention_theory.certificates import Answer, exhaust, smt
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers.machine.layers import DenseHead, DenseLayer

#: A term for every row.
WholeColumn = dict[int, Term]


def whole_column(name: str, size: int, known: Mapping[int, Term]) -> WholeColumn:
    """A column with these rows, and a variable with the column's name in each of the others."""
    return {row: known[row] if row in known else z3.Real(f"row {row} of {name}") for row in range(size)}


def ask_blind(heads: Iterable[DenseHead], asking: Collection[int], seen: Collection[int]) -> Answer:
    """Ask whether scores depend on the rows ``asking`` of the column that asks and ``seen`` of that seen alone."""
    heads = list(heads)
    size = heads[0].query.shape[1]
    met = torch.zeros(size, size, dtype=torch.bool)
    for head in heads:
        met |= (head.query.ne(0).double().mT @ head.key.ne(0).double()).bool()
    allowed = torch.zeros(2, size, dtype=torch.bool)
    for which, rows in enumerate((asking, seen)):
        allowed[which, list(rows)] = True

    def holds(batch: exhaust.Batch) -> Tensor:
        pairs = batch["asking"], batch["seen"]
        return ~met[pairs] | (allowed[0, pairs[0]] & allowed[1, pairs[1]])

    return exhaust.every({"asking": size, "seen": size}, holds, "rows that meet in a score hold addresses")


def fetched(column: WholeColumn, means: Sequence[tuple[DenseHead, Sequence[WholeColumn]]]) -> WholeColumn:
    """A column after Eq. (1a): for each head the mean of the columns that it sees, through its value matrix."""
    added: dict[int, list[Term]] = {}
    for head, seen in means:
        for row in head.value.ne(0).any(dim=1).nonzero().flatten().tolist():
            weights = head.value[row].tolist()
            total = z3.Sum([smt.affine(weights, [other[k] for k in range(len(weights))]) for other in seen])
            added.setdefault(row, []).append(total / len(seen))
    return {row: z3.Sum([term, *added[row]]) if row in added else term for row, term in column.items()}


def processed(layer: DenseLayer, column: WholeColumn) -> WholeColumn:
    """A column after Eq. (1b), over the reals: all its rows."""
    return smt.feed_forward(layer.w1, layer.b1, layer.w2, layer.b2, column)


def is_column(seen: WholeColumn, before: WholeColumn, changed: Mapping[int, Term]) -> list[Term]:
    """That every row is what it was, except for those that are changed, which have these values."""
    return [seen[row] == changed.get(row, term) for row, term in before.items()]
