"""Linear algebra over the rationals by python-flint: ranks, null vectors, sizes of entries, LDLᵀ for definiteness.

A matrix of floats is a matrix of fractions; nothing is rounded. Each question is a few calls of python-flint, which
know no limit of time. The sizes of their matrices bound it: the largest of the book have some hundreds of columns.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from jaxtyping import Num
from torch import Tensor

from attention_theory.certificates.certificate import (
    Answer,
    Clock,
    Counterexample,
    Outcome,
    decided,
    name_of,
    needs,
)
from attention_theory.validation import refuse_unless

with needs("python-flint"):
    import flint

#: A matrix of fractions of python-flint.
Matrix = Any
#: What :func:`matrix` takes: numbers by rows.
Numbers = Num[Tensor, "rows columns"] | Sequence[Sequence[float | Fraction]]


def matrix(numbers: Numbers) -> Matrix:
    """The matrix of fractions that these numbers are."""
    listed = numbers.tolist() if isinstance(numbers, Tensor) else numbers
    rows = [[Fraction(number) for number in row] for row in listed]
    return flint.fmpq_mat([[flint.fmpq(number.numerator, number.denominator) for number in row] for row in rows])


def null_vectors(numbers: Numbers) -> list[list[Fraction]]:
    """A basis of the vectors v with ``matrix v = 0``, from the reduced row echelon form."""
    reduced, rank = matrix(numbers).rref()
    columns = reduced.ncols()
    pivots = [next(column for column in range(columns) if reduced[row, column] != 0) for row in range(rank)]
    basis = []
    for free in sorted(set(range(columns)) - set(pivots)):
        vector = [Fraction(0)] * columns
        vector[free] = Fraction(1)
        for row, pivot in enumerate(pivots):
            vector[pivot] = -_fraction(reduced[row, free])
        basis.append(vector)
    return basis


def pivots(numbers: Numbers) -> list[Fraction]:
    """D of ``A = L D Lᵀ`` without exchanges; it ends at the first pivot that is not above 0.

    Raises:
        ParameterError: a matrix that is not symmetric.
    """
    exact = matrix(numbers)
    refuse_unless(exact == exact.transpose(), "numbers must be a symmetric matrix, got another")
    size, rows = (
        exact.nrows(),
        [[exact[row, column] for column in range(exact.ncols())] for row in range(exact.nrows())],
    )
    diagonal: list[Fraction] = []
    for step in range(size):
        pivot = rows[step][step]
        diagonal.append(_fraction(pivot))
        if pivot <= 0:
            break
        for row in range(step + 1, size):
            factor = rows[row][step] / pivot
            rows[row] = [entry - factor * above for entry, above in zip(rows[row], rows[step], strict=True)]
    return diagonal


def rank_is(numbers: Numbers, rank: int, words: str) -> Answer:
    """Whether a matrix has this rank."""
    clock, exact = Clock(), matrix(numbers)
    actual = exact.rank()
    outcome: Outcome = "proved" if actual == rank else "refuted"
    point = None if actual == rank else {"rank": actual}
    return _answer(f"{words}\nrank = {rank}", exact, outcome, clock, point)


def rank_at_least(numbers: Num[Tensor, "rows columns"], rank: int, words: str, prime: int = 2**31 - 1) -> Answer:
    """Whether a matrix of whole numbers has at least this rank: it does if its remainders modulo a prime do.

    A smaller rank of the remainders leaves the question open.

    Raises:
        ParameterError: a number that is not whole.
    """
    clock, rows = Clock(), numbers.long()
    refuse_unless(bool((rows == numbers).all()), "numbers must be whole, got a fraction")
    reduced = flint.nmod_mat(len(rows), rows.shape[1], (rows % prime).flatten().tolist(), prime)
    outcome: Outcome = "proved" if reduced.rank() >= rank else "unknown"
    return _answer(f"{words}\nrank >= {rank}, modulo {prime}", reduced, outcome, clock, None)


def independent(numbers: Numbers, words: str) -> Answer:
    """Whether the columns of a matrix are independent. A counterexample is a combination of them that is 0."""
    clock, exact = Clock(), matrix(numbers)
    point = None
    if exact.rank() < exact.ncols():
        point = {f"column {place}": entry for place, entry in enumerate(null_vectors(numbers)[0]) if entry}
    return _answer(f"{words}\nindependent columns", exact, decided(point), clock, point)


def combination(counterexample: Counterexample, columns: int) -> list[float]:
    """The factors of all columns in a counterexample of :func:`independent`."""
    return [float(counterexample.get(f"column {place}", 0)) for place in range(columns)]


def at_most(exact: Matrix, limit: float, words: str) -> Answer:
    """Whether no entry of a matrix of fractions is above a limit. A counterexample is the place of the largest."""
    clock, bound = Clock(), matrix([[limit]])[0, 0]
    places = [(row, column) for row in range(exact.nrows()) for column in range(exact.ncols())]
    row, column = max(places, key=lambda place: exact[place])
    largest = exact[row, column]
    point = None if largest <= bound else {"row": row, "column": column, "entry": float(_fraction(largest))}
    return _answer(f"{words}\nevery entry <= {limit}", exact, decided(point), clock, point)


def positive_definite(numbers: Numbers, words: str) -> Answer:
    """Whether a symmetric matrix is positive definite: all pivots are above 0.

    Raises:
        ParameterError: a matrix that is not symmetric.
    """
    clock, diagonal = Clock(), pivots(numbers)
    refuted = diagonal[-1] <= 0
    point = {"number of the pivot": len(diagonal), "pivot": diagonal[-1]} if refuted else None
    return _answer(words, matrix(numbers), "refuted" if refuted else "proved", clock, point)


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _answer(words: str, exact: Matrix, outcome: Outcome, clock: Clock, point: dict[str, Any] | None) -> Answer:
    rows, columns = exact.nrows(), exact.ncols()
    text = "\n".join(" ".join(str(exact[row, column]) for column in range(columns)) for row in range(rows))
    question = f"{words}\n{rows} by {columns} matrix\n{text}"
    return Answer(question, outcome, name_of("python-flint"), clock.seconds, point)
