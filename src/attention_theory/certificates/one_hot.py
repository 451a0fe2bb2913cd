"""Polynomials in one-hot choices: a layer that runs on one-hot rows is executed on all inputs at once.

A *choice* is a group of 0/1 variables of which at most one is 1: the letter of a cell, the rule of a table. Value 0 is
the one in which all variables are 0, so that ``x y = 0`` for two variables of a choice and ``x x = x``. These rules
reduce a polynomial to a sum of products with at most one variable of each choice. The form is unique: an integer
function of the choices is zero everywhere if and only if it has no term, so computing both sides proves an identity.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from attention_theory.certificates.certificate import LIMIT, Answer, Clock, name_of

#: The most terms of identities that are all written out, which are about 0.4 MB; of more there is a digest.
MOST_WRITTEN = 10_000

#: A coefficient, exactly.
Number = int | Fraction
#: Coefficient by term; a term is the bits of its variables, and 0 is the constant term.
Polynomial = dict[int, Number]

ZERO: Polynomial = {}
ONE: Polynomial = {0: 1}


class TooLargeError(ArithmeticError):
    """A polynomial has more terms than a ring allows: the question has no answer."""


class OneHotRing:
    """The integer functions of named choices.

    Args:
        most_terms: of a product. Where a layer is wrong its polynomials grow without end, and no answer is an answer.
    """

    def __init__(self, most_terms: int = 50_000) -> None:
        self.most_terms = most_terms
        self._variables: list[tuple[str, int]] = []
        self._excluded: list[int] = []
        self._excluded_by_term: dict[int, int] = {0: 0}

    def choice(self, name: str, values: int) -> list[Polynomial]:
        """A new choice; returns the indicator of each of its values, ``[choice is 0], [choice is 1], ...``."""
        start = len(self._variables)
        bits = [1 << (start + value) for value in range(values - 1)]
        self._variables += [(name, value) for value in range(1, values)]
        self._excluded += [sum(bits) ^ bit for bit in bits]
        others: list[Polynomial] = [{bit: 1} for bit in bits]
        return [{0: 1, **dict.fromkeys(bits, -1)}, *others]

    def times(self, *factors: Polynomial) -> Polynomial:
        """The product, in normal form.

        Raises:
            TooLargeError: more than ``most_terms`` terms.
        """
        product = ONE
        for factor in factors:
            product = self._multiply(product, factor)
        return product

    def _multiply(self, left: Polynomial, right: Polynomial) -> Polynomial:
        if len(left) > len(right):
            left, right = right, left
        result: Polynomial = {}
        for term, coefficient in left.items():
            excluded = self._excluded_with(term)
            for other, weight in right.items():
                if not other & excluded:
                    together = term | other
                    result[together] = result.get(together, 0) + coefficient * weight
            if len(result) > self.most_terms:
                raise TooLargeError(f"a polynomial has more than {self.most_terms} terms")
        return {term: coefficient for term, coefficient in result.items() if coefficient}

    def _excluded_with(self, term: int) -> int:
        """The variables that are 0 where all variables of the term are 1."""
        if term not in self._excluded_by_term:
            lowest = term & -term
            rest = self._excluded_with(term ^ lowest)
            self._excluded_by_term[term] = rest | self._excluded[lowest.bit_length() - 1]
        return self._excluded_by_term[term]

    def value(self, polynomial: Polynomial, choices: Mapping[str, int]) -> Number:
        """The polynomial where the choices have these values; a choice that is not named is 0."""
        true = sum(1 << place for place, (name, value) in enumerate(self._variables) if choices.get(name) == value)
        return sum(coefficient for term, coefficient in polynomial.items() if term & true == term)

    def nonzero(self, polynomial: Polynomial) -> dict[str, int] | None:
        """Choices other than 0 where the polynomial is not 0, as few as can be; ``None`` if it is zero."""
        if not polynomial:
            return None
        least = min(polynomial, key=lambda term: (term.bit_count(), term))
        return {name: value for place, (name, value) in enumerate(self._variables) if least >> place & 1}

    def text(self, polynomial: Polynomial) -> str:
        """The polynomial for reading, terms of few variables first."""
        words = []
        for term in sorted(polynomial, key=lambda term: (term.bit_count(), term)):
            names = ["[{}={}]".format(*self._variables[place]) for place in _places(term)]
            words.append(f"{'+' * (polynomial[term] > 0)}{polynomial[term]}{''.join(names)}")
        return " ".join(words) or "0"

    def prove_equal(
        self, identities: Iterable[tuple[str, Polynomial, Polynomial]], words: str, seconds: float = LIMIT
    ) -> Answer:
        """Decide whether each of the named pairs of polynomials is one function of the choices.

        Args:
            identities: name, left side, right side; computed as they are taken. The outcome is ``unknown`` where that
                raises a :class:`TooLargeError`.
            words: the question, put before the identities, or the shortest of them and a digest of all.
            seconds: the limit of processor time, after which the outcome is ``unknown``.
        """
        clock, listed = Clock(seconds), []
        try:
            for name, left, right in identities:
                listed.append((name, left, right))
                point = self.nonzero(subtract(left, right))
                if point is not None:
                    sides = {"identity": name, "left": self.value(left, point), "right": self.value(right, point)}
                    return Answer(self._question(listed[-1:], words), "refuted", engine(), clock.seconds, sides | point)
                if clock.has_run_out:
                    return Answer(self._question(listed, words), "unknown", engine(), clock.seconds)
        except TooLargeError as fault:
            return Answer(f"{words}\n{fault}", "unknown", engine(), clock.seconds)
        return Answer(self._question(listed, words), "proved", engine(), clock.seconds)

    def _question(self, identities: Sequence[tuple[str, Polynomial, Polynomial]], words: str) -> str:
        """The words and all identities; of long ones a digest, and the shortest that are not about constants alone."""
        counts = f"{len(self._variables)} variables, {len(identities)} identities"
        if sum(len(left) + len(right) for _, left, right in identities) <= MOST_WRITTEN:
            return "\n".join([words, counts, *map(self._line, identities)])
        everything = "\n".join(
            f"{name}: {sorted(left.items())} {sorted(right.items())}" for name, left, right in identities
        )
        digest = hashlib.sha256(everything.encode()).hexdigest()
        shortest = sorted(identities, key=lambda item: (len(item[2]) < 2, len(item[1]) + len(item[2])))
        return "\n".join([words, f"{counts}, SHA-256 {digest}, among them", *map(self._line, shortest[:5])])

    def _line(self, identity: tuple[str, Polynomial, Polynomial]) -> str:
        name, left, right = identity
        return f"{name}: {self.text(left)} = {self.text(right)}"


def _places(term: int) -> Iterator[int]:
    """The bits of a term that are 1."""
    while term:
        lowest = term & -term
        yield lowest.bit_length() - 1
        term ^= lowest


def engine() -> str:
    """The name of this engine: the package's own."""
    return f"one-hot polynomials, {name_of('attention-theory-executed')}"


def add(into: Polynomial, polynomial: Polynomial, weight: Number = 1) -> None:
    """Add ``weight`` times a polynomial, in place."""
    for term, coefficient in polynomial.items():
        total = into.get(term, 0) + weight * coefficient
        if total:
            into[term] = total
        else:
            into.pop(term, None)


def subtract(left: Polynomial, right: Polynomial) -> Polynomial:
    """The difference of two polynomials."""
    difference = dict(left)
    add(difference, right, -1)
    return difference
