"""Certificates of the chapter on hyper-attention: what holds for every input of a range."""

from fractions import Fraction
from itertools import permutations, product

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exact
from attention_theory.certificates.certificate import Clock, Counterexample, name_of
from attention_theory.hyper_attention.interactions.versatility import data_matrix, unique_null_vector, versatility
from attention_theory.validation import refuse_unless


def certify_unseen_direction(size: int, length: int) -> Certificate:
    """Remark D.1: sequences without repeats leave one direction of each data matrix unseen, and no other.

    Args:
        size: the number of symbols.
        length: of the sequences, at least 2 and below ``size``.

    Raises:
        ParameterError: a length out of bounds.
    """
    refuse_unless(2 <= length < size, f"length must be at least 2 and below size, {size}, got {length}")
    distinct = torch.tensor(list(permutations(range(size), length)))
    answers = []
    for symbol in range(size):
        matrix = data_matrix(distinct, symbol, size)
        answers.append(exact.rank_is(matrix, size - 1, f"Counts of the sequences that hold symbol {symbol}:"))
        answers.append(_is_null_vector(matrix, unique_null_vector(symbol, size, length), symbol))
    every = torch.tensor(list(product(range(size), repeat=length)))

    def run(values: Counterexample) -> tuple[str, bool]:
        rank = int(versatility(every, size).ranks[0])
        return f"sequences with repeats give rank {rank}, not {size - 1}", rank != size - 1

    control = Control.of(
        "tokens may repeat",
        exact.rank_is(data_matrix(every, 0, size), size - 1, "Counts of the sequences that hold symbol 0:"),
        run,
    )
    return certify(
        "If no token repeats, the data matrix of every symbol misses exactly the vector that is 1 - L at the symbol "
        "and 1 elsewhere, however many sequences there are.",
        f"{size} symbols, length L = {length}: all {len(distinct)} sequences without repeats",
        answers,
        control,
    )


def _is_null_vector(matrix: Tensor, vector: Tensor, symbol: int) -> Answer:
    """Whether the null space is the multiples of this vector, exactly."""
    clock = Clock()
    spans = exact.null_vectors(matrix)
    factors = (
        {entry / Fraction(number) for entry, number in zip(spans[0], vector.tolist(), strict=True)}
        if len(spans) == 1
        else set()
    )
    is_multiple = len(factors) == 1
    point = None if is_multiple else {"null space": [[str(entry) for entry in row] for row in spans]}
    question = f"the null space of the counts for symbol {symbol} is spanned by {vector.tolist()}"
    return Answer(question, "proved" if is_multiple else "refuted", name_of("python-flint"), clock.seconds, point)
