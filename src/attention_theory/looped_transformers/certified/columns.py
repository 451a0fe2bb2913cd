"""Columns whose rows are bits of words: a layer executed on all words at once, in exact arithmetic.

A row is a linear combination of *atoms*, the bits of words as ±1, and a constant. Attention and all hidden units whose
sign is known, or that depend on a single bit, keep it one. What else a feed-forward network makes of it is looked at on
samples, which suggest a bit of a word; z3 proves the suggestion for all words, or it is not used.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from torch import Tensor

from attention_theory.certificates import Answer
from attention_theory.certificates.smt import prove, z3
from attention_theory.looped_transformers.certified.words import ONE, Atom, Fields, Row, Words, pieces

#: The rows that are not zero, by number.
Column = dict[int, Row]


def combine(weighted: Iterable[tuple[Fraction, Row]]) -> Row:
    """``Σ weight row``."""
    total: Row = {}
    for weight, row in weighted:
        scaled = row if weight == 1 else {atom: weight * coefficient for atom, coefficient in row.items()}
        for atom, coefficient in scaled.items():
            total[atom] = total[atom] + coefficient if atom in total else coefficient
    return {atom: coefficient for atom, coefficient in total.items() if coefficient}


def apply(matrix: Tensor, column: Column) -> Column:
    """A matrix times a column; weights are the fractions that they are."""
    rows: dict[int, list[tuple[Fraction, Row]]] = {}
    for into, row in matrix.nonzero().tolist():
        if row in column:
            rows.setdefault(into, []).append((Fraction(matrix[into, row].item()), column[row]))
    return {into: total for into, parts in rows.items() if (total := combine(parts))}


def extent(row: Row) -> tuple[Fraction, Fraction]:
    """An interval that holds the row's values, whatever the words are."""
    middle = row.get(ONE, Fraction(0))
    radius = sum((abs(weight) for atom, weight in row.items() if atom != ONE), Fraction(0))
    return middle - radius, middle + radius


def relu_row(row: Row) -> Row | None:
    """``relu`` of a row where that is linear in the atoms: its sign is known, or it depends on a single bit."""
    low, high = extent(row)
    if high <= 0:
        return {}
    if low >= 0:
        return row
    atoms = [atom for atom in row if atom != ONE]
    if len(atoms) > 1:
        return None
    return {ONE: high / 2, atoms[0]: high / 2 if row[atoms[0]] > 0 else -high / 2}


@dataclass(frozen=True)
class Network:
    """The rows of a column after a feed-forward network: ``linear + Σ weight relu(row)``."""

    linear: Row
    units: list[tuple[Fraction, Row]]

    def at_samples(self, words: Words) -> list[float]:
        """The row's values at the samples."""
        values = words.at_samples(self.linear)
        for weight, row in self.units:
            values += float(weight) * words.at_samples(row).relu()
        return values.tolist()

    def equals(self, wanted: Row, words: Words, title: str) -> Answer:
        """Test whether it is ``wanted`` for all words, by linear arithmetic over the integers."""
        rest = combine([(Fraction(1), self.linear), (Fraction(-1), wanted)])
        rows = [rest, *(row for _, row in self.units)]
        scale = math.lcm(1, *(number.denominator for row in rows for number in row.values()))
        outer = math.lcm(1, *(weight.denominator for weight, _ in self.units))
        used = [piece for row in rows for piece in pieces(row)]
        free = {name for _, row in self.units for name, _ in row}
        for words_left_free in (free, set[str]()):  # with fewer assumptions first: it is simpler, and mostly true
            fields = Fields(words, used, words_left_free)
            total = outer * fields.value(rest, scale)
            for weight, row in self.units:
                inner = fields.value(row, scale)
                total += int(outer * weight) * z3.If(inner > 0, inner, 0)
            answer = prove(fields.assumptions, total == 0, title)
            if answer.outcome == "proved":
                break
        return answer


def feed_forward(
    w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, column: Column, linear: bool = True
) -> dict[int, Network]:
    """``x + W2 relu(W1 x + b1) + b2`` row by row.

    Args:
        w1, b1, w2, b2: the weights.
        column: x.
        linear: use that some units are linear in the atoms, so that fewer remain.
    """
    hidden = apply(w1, column)
    for unit, bias in enumerate(b1.tolist()):
        if bias:
            hidden[unit] = combine([(Fraction(1), hidden.get(unit, {})), (Fraction(bias), {ONE: Fraction(1)})])
    outputs = {row: Network(dict(value), []) for row, value in column.items()}
    for row, constant in enumerate(b2.tolist()):
        if constant:
            _add(outputs, row, Fraction(constant), {ONE: Fraction(1)})
    exact = {unit: relu_row(row) if linear else None for unit, row in hidden.items()}
    for row, unit in w2.nonzero().tolist():
        if unit not in hidden:
            continue
        weight, value = Fraction(w2[row, unit].item()), exact[unit]
        if value is None:
            outputs.setdefault(row, Network({}, [])).units.append((weight, hidden[unit]))
        else:
            _add(outputs, row, weight, value)
    return outputs


def _add(outputs: dict[int, Network], row: int, weight: Fraction, value: Row) -> None:
    before = outputs.get(row, Network({}, []))
    outputs[row] = Network(combine([(Fraction(1), before.linear), (weight, value)]), before.units)


def suggestions(values: Mapping[int, Sequence[float]], words: Words) -> dict[int, Row]:
    """For rows with these values at the samples: constants, or a bit of a word where they take two values.

    Of several bits that do, the one is taken whose neighbours in the word are in the neighbouring rows.
    """
    matching: dict[int, list[tuple[Atom, int]]] = {}
    for row, sampled in values.items():
        low, high = min(sampled), max(sampled)
        signs = tuple(1.0 if value == high else -1.0 for value in sampled)
        matching[row] = words.named(signs) if low < high and {*sampled} == {low, high} else []
    chosen: dict[int, Row] = {}
    for row, sampled in values.items():
        least, most = Fraction(min(sampled)), Fraction(max(sampled))
        middle: Row = {ONE: (least + most) / 2} if least + most else {}
        if least == most:
            chosen[row] = middle
        elif matching[row]:
            atom, sign = max(matching[row], key=lambda match: _run(match, row, matching))
            chosen[row] = middle | {atom: sign * (most - least) / 2}
    return chosen


def _run(match: tuple[Atom, int], row: int, matching: Mapping[int, list[tuple[Atom, int]]]) -> int:
    """In how many rows next to this one the word goes on."""
    (name, bit), sign = match
    length = 0
    for step in (1, -1):
        offset = step
        while ((name, bit + offset), sign) in matching.get(row + offset, []):
            length, offset = length + 1, offset + step
    return length
