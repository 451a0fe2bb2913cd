"""Words of bits as integers: what is assumed of them, how some are made of others, and questions about their bits.

In a question a word is cut into the fields of bits that occur in it, each an integer variable. So a sum of the lowest
bits of two words is linear arithmetic in two variables, however many bits there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import torch
from torch import Tensor

from attention_theory.certificates.smt import Term, z3

#: Bit ``k`` of a word as +1 or -1, by name of the word; :data:`ONE` is the constant 1.
Atom = tuple[str, int]
#: A linear combination of atoms.
Row = dict[Atom, Fraction]

ONE: Atom = ("", 0)


@dataclass(frozen=True)
class Linear:
    """A word that is ``constant + Σ weight word`` modulo 2 to the number of its bits."""

    weights: Mapping[str, int]
    constant: int = 0


@dataclass(frozen=True)
class AtMostZero:
    """A word of one bit: whether another, in two's complement, is at most 0."""

    word: str


@dataclass(frozen=True)
class Choice:
    """One word where a flag is set, and another where it is not."""

    flag: str
    yes: str
    no: str


Definition = Linear | AtMostZero | Choice


@dataclass
class Words:
    """Words by name.

    Attributes:
        sizes: the bits of each.
        samples: some values of each, equally many.
        definitions: of the words that are made of others; a word is made of earlier ones.
        given: what is assumed of the words, as bit-vectors of z3 with their names.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    samples: dict[str, Tensor] = field(default_factory=dict)
    definitions: dict[str, Definition] = field(default_factory=dict)
    given: list[Term] = field(default_factory=list)
    _signs: dict[Atom, Tensor] = field(default_factory=dict, repr=False)
    _agree: dict[tuple[Atom, Atom], Term] = field(default_factory=dict, repr=False)
    _named: dict[tuple[float, ...], list[tuple[Atom, int]]] = field(default_factory=dict, repr=False)

    def add(self, name: str, size: int, samples: list[int]) -> None:
        """A word that may have any value."""
        self.sizes[name], self.samples[name] = size, torch.tensor(samples)

    def define(self, name: str, size: int, definition: Definition) -> None:
        """A word that is made of others."""
        self.sizes[name], self.definitions[name] = size, definition
        self.samples[name] = self._made(definition) % 2**size

    def _made(self, definition: Definition) -> Tensor:
        match definition:
            case Linear(weights, constant):
                return torch.stack([weight * self.samples[name] for name, weight in weights.items()]).sum(0) + constant
            case AtMostZero(word):
                values = self.samples[word]
                return ((values == 0) | (values >> (self.sizes[word] - 1) == 1)).long()
            case Choice(flag, yes, no):
                return torch.where(self.samples[flag] == 1, self.samples[yes], self.samples[no])

    def at(self, values: Mapping[str, int]) -> "Words":
        """The same words at one sample: these values, and those of the first sample for words without one."""
        words = Words(given=self.given)
        for name, size in self.sizes.items():
            if name in self.definitions:
                words.define(name, size, self.definitions[name])
            else:
                words.add(name, size, [values.get(name, int(self.samples[name][0]))])
        return words

    def term(self, name: str) -> Term:
        """The word as a bit-vector of z3."""
        return z3.BitVec(name, self.sizes[name])

    def agree(self, one: Atom, other: Atom) -> Term:
        """The bits of two atoms are the same; as a formula of z3, which is made once."""
        if (one, other) not in self._agree:
            signs = [z3.Extract(bit, bit, self.term(name)) == 1 for name, bit in (one, other) if name]
            self._agree[one, other] = signs[0] == (signs[1] if len(signs) == 2 else True)
        return self._agree[one, other]

    def bits(self, name: str) -> list[Row]:
        """The rows that hold a word, least significant bit first."""
        return [{(name, bit): Fraction(1)} for bit in range(self.sizes[name])]

    def signs(self, atom: Atom) -> Tensor:
        """An atom at the samples."""
        if atom not in self._signs:
            name, bit = atom
            self._signs[atom] = (2 * (self.samples[name] >> bit & 1) - 1).to(torch.float64)
        return self._signs[atom]

    def named(self, signs: tuple[float, ...]) -> list[tuple[Atom, int]]:
        """The atoms that are these signs at the samples, or their opposite."""
        if not self._named:
            for name, size in self.sizes.items():
                for bit in range(size):
                    values = self.signs((name, bit))
                    self._named.setdefault(tuple(values.tolist()), []).append(((name, bit), 1))
                    self._named.setdefault(tuple((-values).tolist()), []).append(((name, bit), -1))
        return self._named.get(signs, [])

    def at_samples(self, row: Row) -> Tensor:
        """A row at the samples."""
        values = torch.full((len(next(iter(self.samples.values()))),), float(row.get(ONE, 0)), dtype=torch.float64)
        for atom, weight in row.items():
            if atom != ONE:
                values += float(weight) * self.signs(atom)
        return values


#: ``weight`` times the field of bits ``low`` to ``high - 1`` of a word, where each bit counts as ±1.
Piece = tuple[str, int, int, Fraction]


def pieces(row: Row) -> list[Piece]:
    """A row as fields: bits 0 to k of a word, in proportion 1, 2, 4, ..., are one; others are one each."""
    result: list[Piece] = []
    for name in dict.fromkeys(name for name, _ in row if name):
        bits = sorted(bit for word, bit in row if word == name)
        unit = row[name, bits[0]]
        together = bits == list(range(len(bits))) and all(row[name, bit] == unit * 2**bit for bit in bits)
        fields = [(0, len(bits))] if together else [(bit, bit + 1) for bit in bits]
        result += [(name, low, high, row[name, low]) for low, high in fields]
    return result


class Fields:
    """The words of one question, cut into fields that are integer variables of z3.

    Args:
        words: all words.
        used: the fields that occur.
        free: words that may have any value here, though they are made of others, which only makes the question harder.
    """

    def __init__(self, words: Words, used: list[Piece], free: set[str]) -> None:
        self.words, self._cuts = words, dict[str, set[int]]()
        self._variables: dict[tuple[str, int, int], Term] = {}
        self._definitions: list[Term] = []
        for name, low, high, _ in used:
            self._cut(name, low, high)
        needed = [name for name in reversed(words.definitions) if name not in free]
        for name in needed:
            if name in self._cuts:
                self._cut_sources(name, words.definitions[name])
        for name in needed:
            if name in self._cuts:
                self._definitions += self._define(name, words.definitions[name])

    @property
    def assumptions(self) -> list[Term]:
        """The ranges of all fields that were asked for, and the definitions of words."""
        ranges = [
            z3.And(variable >= 0, variable < 2 ** (high - low)) for (_, low, high), variable in self._variables.items()
        ]
        return [*ranges, *self._definitions]

    def value(self, row: Row, scale: int) -> Term:
        """``scale`` times a row, which clears all its denominators."""
        total = int(scale * row.get(ONE, Fraction(0)))
        parts = []
        for name, low, high, weight in pieces(row):
            factor = int(scale * weight)
            parts.append(2 * factor * self._field(name, low, high))
            total -= factor * (2 ** (high - low) - 1)
        return z3.Sum([z3.IntVal(total), *parts])

    def _cut(self, name: str, *places: int) -> None:
        self._cuts.setdefault(name, {0}).update(places)

    def _field(self, name: str, low: int, high: int) -> Term:
        """The number that is bits ``low`` to ``high - 1`` of a word."""
        cuts = sorted(cut for cut in self._cuts[name] if low <= cut <= high)
        parts = []
        for start, end in pairwise(cuts):
            key = (name, start, end)
            self._variables.setdefault(key, z3.Int(f"{name}[{start}:{end}]"))
            parts.append(2 ** (start - low) * self._variables[key])
        return z3.Sum(parts)

    def _cut_sources(self, name: str, definition: Definition) -> None:
        match definition:
            case Linear(weights):
                for source in weights:
                    self._cut(source, max(self._cuts[name]))
            case AtMostZero(word):
                self._cut(word, self.words.sizes[word] - 1, self.words.sizes[word])
            case Choice(flag, yes, no):
                self._cut(flag, 1)
                self._cut(yes, *self._cuts[name])
                self._cut(no, *self._cuts[name])

    def _define(self, name: str, definition: Definition) -> list[Term]:
        cuts = sorted(self._cuts[name])
        match definition:
            case Linear(weights, constant):
                total = z3.Sum([weight * self._field(source, 0, cuts[-1]) for source, weight in weights.items()])
                carry = z3.Int(f"carry of {name}")
                return [self._field(name, 0, cuts[-1]) + 2 ** cuts[-1] * carry == total + constant]
            case AtMostZero(word):
                size = self.words.sizes[word]
                holds = z3.Or(self._field(word, size - 1, size) == 1, self._field(word, 0, size) == 0)
                return [self._field(name, 0, 1) == z3.If(holds, 1, 0)]
            case Choice(flag, yes, no):
                is_set = self._field(flag, 0, 1) == 1
                return [
                    self._field(name, low, high)
                    == z3.If(is_set, self._field(yes, low, high), self._field(no, low, high))
                    for low, high in pairwise(cuts)
                ]
