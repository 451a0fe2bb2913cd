"""Upper bounds on the rank of the feature matrix for all keys and queries (Propositions 2 and 5, Appendix I.1)."""

import sympy
import torch

from attention_theory.certificates import Certificate, Control, algebra, certify, exact
from attention_theory.memorization.attention import random_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.rank_bounds import block_differences, features_of_unnormalised_weights
from attention_theory.validation import require


def certify_rank_bound(heads: int, tokens: int) -> Certificate:
    """Proposition 2: with a shared context the rank of Z is at most ``H (n - 1) + 1``, whatever the weights.

    Z is Theta times a matrix, and Theta has ``H n`` columns. Theta's product with the columns of
    :func:`block_differences` is 0 for all weights that sum to 1 in every head, and these columns are ``H - 1``
    independent ones: what Theta cannot reach.

    Raises:
        ParameterError: heads below 2, or no token.
    """
    require(heads=(heads, 2, None), tokens=(tokens, 1, None))
    differences = block_differences(heads, tokens)
    columns = sympy.Matrix([[sympy.Rational(entry) for entry in row] for row in differences.tolist()])
    weights = sympy.Matrix(heads, tokens, lambda head, token: sympy.Symbol(f"w_{head + 1}{token + 1}"))
    products = list(sympy.Matrix(1, heads * tokens, list(weights)) * columns)
    sums = [sum(weights[head, :]) - 1 for head in range(heads)]
    answers = [algebra.follows(sums, product, list(weights)) for product in products]
    answers.append(exact.rank_is(differences, heads - 1, "the differences of blocks, whose columns are independent:"))
    control = Control.of(
        "the weights of a head need not sum to 1",
        algebra.identity(products[0], 0),
        lambda values: _unnormalised_rank(heads, tokens),
    )
    return certify(
        f"Theta has rank at most H (n - 1) + 1 = {heads * (tokens - 1) + 1} for all heads and examples, and so has Z "
        "where all examples share one context.",
        f"H = {heads} heads, n = {tokens} tokens, any weights that sum to 1 in every head",
        answers,
        control,
    )


def _unnormalised_rank(heads: int, tokens: int) -> tuple[str, bool]:
    """The rank of Z with tanh in place of softmax, of which the statement would be false."""
    bound, width = heads * (tokens - 1) + 1, tokens + heads
    examples = sample_examples(heads * width, tokens, width)
    rank = int(
        torch.linalg.matrix_rank(features_of_unnormalised_weights(random_heads(heads, width, width, 0), examples))
    )
    return f"Z of weights that do not sum to 1 has rank {rank}, above {bound}", rank > bound
