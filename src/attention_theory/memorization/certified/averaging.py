"""The layer that only averages, for all tokens (Lemma 2, Proposition 4)."""

from collections.abc import Sequence

import sympy
import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.certificates import Certificate, Control, algebra, certify, exact, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.memorization.attention import Examples
from attention_theory.memorization.averaging import averaging_layer, whole_mean_shifted_queries
from attention_theory.memorization.certified.polynomials import combination
from attention_theory.numerics import numerical_rank
from attention_theory.validation import require


def certify_mean_added(most: int = 20) -> Certificate:
    """Lemma 2: adding the mean keeps vectors independent.

    For every n by sympy: with J the matrix of ones, ``J^2 = n J``, and ``(n I + J)(2n I - J) = 2n^2 I``, so that
    ``I + J/n`` has an inverse. For n up to ``most`` by python-flint: what the layer does to n tokens, as it is in
    float64, has an inverse.

    Raises:
        ParameterError: ``most`` below 1.
    """
    require(most=(most, 1, None))
    n, J = sympy.symbols("n J")
    answers = [algebra.follows([J**2 - n * J], (n + J) * (2 * n - J) - 2 * n**2, [J, n])]
    for tokens in range(1, most + 1):
        on_tokens = _layer_at_units(tokens)[:tokens, :tokens]
        answers.append(exact.positive_definite(on_tokens, f"what the layer does to {tokens} tokens is invertible:"))
    taken_away = 2 * torch.eye(4, dtype=torch.float64) - _layer_at_units(4)[:4, :4]

    def run(values: Counterexample) -> tuple[str, bool]:
        rank = int(numerical_rank(taken_away @ torch.eye(4, 8, dtype=torch.float64)))
        return f"four independent vectors less their mean have rank {rank}", rank == values["rank"] < 4

    return certify(
        "Independent vectors stay independent when their mean is added to each.",
        f"every n; as the layer computes it, n up to {most}",
        answers,
        Control.of("the mean is taken away", exact.rank_is(taken_away, 4, "four vectors less their mean:"), run),
    )


def certify_averaging(tokens: int = 4) -> Certificate:
    """Proposition 4: queries become the sums of Assumption 3, tokens with their mean, contexts keep their rank.

    For all examples of n tokens, n a power of two, by sympy (Eqs. 24 and 25, the sums of Assumption 3) and python-flint
    (the rank of the change of a context), from the layer's coefficients.

    Raises:
        ParameterError: tokens that are no power of two, whose mean would be rounded.
    """
    require(tokens=(tokens, {2, 4, 8}))
    coefficients = _layer_at_units(tokens)
    sums = whole_mean_shifted_queries(_units(tokens))
    symbols = sympy.symbols([*(f"e_{place + 1}" for place in range(tokens)), "e"])
    mean = sum(symbols[:tokens]) / sympy.Integer(tokens)
    outputs = [combination(row, symbols) for row in coefficients.tolist()]
    answers = [algebra.identity(output, before + mean) for output, before in zip(outputs, symbols, strict=True)]
    words = "n times the new query is the whole sum of Assumption 3"
    answers.append(algebra.identity(tokens * outputs[-1], combination(sums[0].tolist(), symbols), words))
    answers.append(exact.rank_is(coefficients[:tokens, :tokens], tokens, "the change of a context has rank n:"))
    return certify(
        "The averaging layer adds the mean of its context to every token and to the query, which becomes the sum of "
        "Assumption 3, and keeps the rank of every context.",
        f"all examples of n = {tokens} tokens",
        answers,
        _assumption_1_is_not_enough(),
    )


def _assumption_1_is_not_enough() -> Control:
    """Two examples of two tokens that satisfy Assumptions 1 and 2 before the layer, and not after it."""
    queries = [z3.IntVector(f"query_{example}", 2) for example in (1, 2)]
    contexts = [[z3.IntVector(f"token_{example}{place}", 2) for place in (1, 2)] for example in (1, 2)]
    small = [smt.among(entry, range(-2, 3)) for vector in [*queries, *contexts[0], *contexts[1]] for entry in vector]
    given = [_determinant(matrix) != 0 for matrix in (queries, *contexts)]
    sums = [
        [2 * entry + first + second for entry, first, second in zip(query, *tokens, strict=True)]
        for query, tokens in zip(queries, contexts, strict=True)
    ]

    def run(values: Counterexample) -> tuple[str, bool]:
        before = torch.tensor([[float(values.get(str(entry), 0)) for entry in query] for query in queries])
        tokens = torch.tensor([[[float(values.get(str(e), 0)) for e in one] for one in c] for c in contexts])
        after = averaging_layer(Examples(tokens.double(), before.double())).queries
        ranks = [int(numerical_rank(vectors.double())) for vectors in (before, after)]
        return f"queries of rank {ranks[0]} before the layer and {ranks[1]} after it", ranks == [2, 1]

    return Control.of(
        "Assumption 1 in place of Assumption 3", smt.prove([*small, *given], _determinant(sums) != 0), run
    )


def _layer_at_units(tokens: int) -> Float[Tensor, "tokens_plus_1 tokens_plus_1"]:
    """The averaging layer's output on n tokens and a query that are unit vectors: a row of coefficients each.

    With keys and queries 0 the layer is linear in the tokens and the query, so that these are its coefficients.
    """
    after = averaging_layer(_units(tokens))
    return torch.cat([after.contexts[0], after.queries])


def _units(tokens: int) -> Examples:
    """One example whose tokens and query are the unit vectors."""
    units = torch.eye(tokens + 1, dtype=torch.float64)
    return Examples(units[None, :tokens], units[tokens:])


def _determinant(matrix: Sequence[Sequence[Term]]) -> Term:
    (a, b), (c, d) = matrix
    return a * d - b * c
