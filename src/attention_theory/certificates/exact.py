"""Linear algebra over the rationals by python-flint: ranks, null vectors, sizes of entries, LDLᵀ for definiteness.

A matrix of floats is a matrix of fractions; nothing is rounded. A question that exceeds ``seconds`` of processor time
is ``unknown``. A call of python-flint is not interrupted; the book's matrices have some hundreds of columns at most.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from jaxtyping import Num
from torch import Tensor

from attention_theory.certificates.certificate import (
    LIMIT,
    Answer,
    Counterexample,
    Found,
    decided,
    name_of,
    needs,
    within_limit,
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


def rank_is(numbers: Numbers, rank: int, words: str, seconds: float = LIMIT) -> Answer:
    """Decide whether a matrix has this rank."""
    exact = matrix(numbers)

    def settle() -> Found:
        point = None if exact.rank() == rank else {"rank": exact.rank()}
        return decided(point), point

    return _answer(f"{words}\nrank = {rank}", exact, settle, seconds)


def rank_at_least(
    numbers: Num[Tensor, "rows columns"], rank: int, words: str, prime: int = 2**31 - 1, seconds: float = LIMIT
) -> Answer:
    """Decide whether a matrix of whole numbers has at least this rank: it does if its remainders modulo a prime do.

    A smaller rank of the remainders leaves the question open.

    Raises:
        ParameterError: a number that is not whole.
    """
    rows = numbers.long()
    refuse_unless(bool((rows == numbers).all()), "numbers must be whole, got a fraction")
    reduced = flint.nmod_mat(len(rows), rows.shape[1], (rows % prime).flatten().tolist(), prime)

    def settle() -> Found:
        return "proved" if reduced.rank() >= rank else "unknown", None

    return _answer(f"{words}\nrank >= {rank}, modulo {prime}", reduced, settle, seconds)


def independent(numbers: Numbers, words: str, seconds: float = LIMIT) -> Answer:
    """Decide whether the columns of a matrix are independent. A counterexample is a combination of them that is 0."""
    exact = matrix(numbers)

    def settle() -> Found:
        point = None
        if exact.rank() < exact.ncols():
            point = {f"column {place}": entry for place, entry in enumerate(null_vectors(numbers)[0]) if entry}
        return decided(point), point

    return _answer(f"{words}\nindependent columns", exact, settle, seconds)


def combination(counterexample: Counterexample, columns: int) -> list[float]:
    """The factors of all columns in a counterexample of :func:`independent`."""
    return [float(counterexample.get(f"column {place}", 0)) for place in range(columns)]


def at_most(exact: Matrix, limit: float, words: str, seconds: float = LIMIT) -> Answer:
    """Decide whether no entry of a matrix is above a limit. A counterexample is the place of the largest entry."""
    bound = matrix([[limit]])[0, 0]

    def settle() -> Found:
        places = [(row, column) for row in range(exact.nrows()) for column in range(exact.ncols())]
        row, column = max(places, key=lambda place: exact[place])
        largest = exact[row, column]
        point = None if largest <= bound else {"row": row, "column": column, "entry": float(_fraction(largest))}
        return decided(point), point

    return _answer(f"{words}\nevery entry <= {limit}", exact, settle, seconds)


def positive_definite(numbers: Numbers, words: str, seconds: float = LIMIT) -> Answer:
    """Decide whether a symmetric matrix is positive definite: all pivots are above 0.

    Raises:
        ParameterError: a matrix that is not symmetric.
    """

    def settle() -> Found:
        diagonal = pivots(numbers)
        point = {"number of the pivot": len(diagonal), "pivot": diagonal[-1]} if diagonal[-1] <= 0 else None
        return decided(point), point

    return _answer(words, matrix(numbers), settle, seconds)


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _answer(words: str, exact: Matrix, settle: Callable[[], Found], seconds: float) -> Answer:
    rows, columns = exact.nrows(), exact.ncols()
    text = "\n".join(" ".join(str(exact[row, column]) for column in range(columns)) for row in range(rows))
    question = f"{words}\n{rows} by {columns} matrix\n{text}"
    return within_limit(settle, question, name_of("python-flint"), seconds)
