"""Upper bounds on the rank of the feature matrix for all keys and queries (Propositions 2 and 5, Appendix I.1)."""

from collections.abc import Sequence
from itertools import product

import sympy
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, exact, exhaust, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.certificates.smt import Term, z3
from attention_theory.memorization.attention import Examples, KeyQueryHeads, features, random_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.general_position import (
    capacity_in_general_position,
    fresh_examples,
    narrow_contexts,
)
from attention_theory.memorization.rank_bounds import block_differences, features_of_unnormalised_weights
from attention_theory.numerics import numerical_rank
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

    def run(values: Counterexample) -> tuple[str, bool]:
        wanted = torch.tensor([[float(values.get(str(weight), 0)) / 4 for weight in row] for row in weights.tolist()])
        one = Examples(torch.eye(tokens, dtype=torch.float64)[None], torch.ones(1, tokens, dtype=torch.float64))
        theta = features_of_unnormalised_weights(_heads_with(wanted.double().atanh(), one), one)
        apart = (theta @ differences)[0, 0].item()
        bound, width = heads * (tokens - 1) + 1, tokens + heads
        free = sample_examples(heads * width, tokens, width)
        rank = int(numerical_rank(features_of_unnormalised_weights(random_heads(heads, width, width, 0), free)))
        words = f"a quarter of these as tanh of logits: a row of Theta and the null vector have the product {apart:g}"
        return f"{words}; Z of random ones has rank {rank}, above {bound}", abs(apart) > 0.1 and rank > bound

    control = Control.of("the weights of a head need not sum to 1", algebra.identity(products[0], 0), run)
    return certify(
        f"Theta has rank at most H (n - 1) + 1 = {heads * (tokens - 1) + 1} for all heads and examples, and so has Z "
        "where all examples share one context.",
        f"H = {heads} heads, n = {tokens} tokens, any weights that sum to 1 in every head",
        answers,
        control,
    )


def _heads_with(logits: Float[Tensor, "heads tokens"], one: Examples) -> KeyQueryHeads:
    """Heads that have these logits at an example whose tokens are independent."""
    context, query = one.contexts[0], one.queries[0]
    carried = torch.linalg.pinv(context) @ logits.mT
    queries = torch.einsum("d,kh->hdk", query / query.square().sum(), carried)
    return KeyQueryHeads(torch.eye(one.width, dtype=torch.float64).expand_as(queries), queries)


def _weights_of(values: Counterexample, names: Sequence[str], tokens: int) -> Float[Tensor, "heads tokens"]:
    return torch.tensor([[float(values[f"{name}__{token}"]) for token in range(tokens)] for name in names]).double()


def certify_token_sums(heads: int, tokens: int, width: int) -> Certificate:
    """Proposition 5: where the entries of every token sum to C, the rank of Z is at most ``H (d - 1) + 1``.

    For all weights that sum to 1 and all such tokens, by sympy: the columns of :func:`block_differences` are null
    vectors of Z. For C = 0 the sums of the blocks are, too, and the rank is at most ``H (d - 1)``.

    Raises:
        ParameterError: heads below 2, no token, or a width below 2.
    """
    require(heads=(heads, 2, None), tokens=(tokens, 1, None), width=(width, 2, None))
    differences = block_differences(heads, width)
    columns = sympy.Matrix([[sympy.Rational(entry) for entry in row] for row in differences.tolist()])
    row, sums, variables = _row_of_features(heads, tokens, width)
    answers = [algebra.follows(sums, product, variables) for product in row * columns]
    C = variables[-1]
    blocks = [sum(row[head * width : (head + 1) * width]) for head in range(heads)]
    answers += [algebra.follows([*sums, C], block, variables) for block in blocks]
    answers.append(exact.rank_is(differences, heads - 1, "the differences of blocks, whose columns are independent:"))

    free = sample_examples(heads * width + 5, tokens, width, shared=False, law="integer")
    one, names = Examples(free.contexts[:1], free.queries[:1]), [f"head_{head + 1}" for head in range(heads)]
    weights_of_heads = [z3.RealVector(name, tokens) for name in names]
    averages = [smt.affine(entries, weights) for weights in weights_of_heads for entries in one.contexts[0].mT.tolist()]
    products = [smt.affine(column, averages) == 0 for column in differences.mT.tolist()]
    softmax = [_is_softmax(weights) for weights in weights_of_heads]

    def run(values: Counterexample) -> tuple[str, bool]:
        apart = (features(_heads_with(_weights_of(values, names, tokens).log(), one), one) @ differences).abs().max()
        rank = int(numerical_rank(features(random_heads(heads, width, width, 0), free)))
        bound = heads * (width - 1) + 1
        words = f"the sums of two heads differ by {apart:.3g}, and Z of free tokens has rank {rank}, above {bound}"
        return words, apart.item() > 1e-6 and rank > bound

    return certify(
        f"Where the entries of each token sum to C, Z has rank at most H (d - 1) + 1 = {heads * (width - 1) + 1}, "
        f"and where C = 0 at most H (d - 1) = {heads * (width - 1)}.",
        f"H = {heads}, n = {tokens}, d = {width}; all tokens of sum C, all weights that sum to 1 in every head",
        answers,
        Control.of("the sums of the tokens differ", smt.prove(softmax, z3.And(products), "null vectors of Z"), run),
    )


def _row_of_features(heads: int, tokens: int, width: int) -> tuple[sympy.Matrix, list[sympy.Expr], list[sympy.Symbol]]:
    """A row of Z as a polynomial in weights and tokens, what the sums of both are, and the variables, C the last."""
    weights = sympy.Matrix(heads, tokens, lambda head, token: sympy.Symbol(f"w_{head + 1}{token + 1}"))
    context = sympy.Matrix(tokens, width, lambda token, entry: sympy.Symbol(f"e_{token + 1}{entry + 1}"))
    C = sympy.Symbol("C")
    sums = [sum(weights[head, :]) - 1 for head in range(heads)]
    sums += [sum(context[token, :]) - C for token in range(tokens)]
    return sympy.Matrix(1, heads * width, list(weights * context)), sums, [*weights, *context, C]


def certify_narrow_contexts(heads: int, tokens: int, width: int, count: int) -> Certificate:
    """Appendix I.1: there are data on which Z has at most the promised rank, whatever the weights.

    In the data of :func:`narrow_contexts` the last entries of all tokens of a context are equal, so that they are equal
    in every head's average; z3 proves it for all weights that sum to 1, from the tokens as they are drawn.

    Raises:
        ParameterError: heads below 2, no example, or no token or not fewer than the width.
    """
    require(heads=(heads, 2, None), count=(count, 1, None), tokens=(tokens, 1, width - 1))
    narrow = narrow_contexts(count, tokens, width, 0)
    fresh = fresh_examples(tokens, width, width + 1)
    bound = capacity_in_general_position(heads, tokens, width, width + 1)
    same = range(fresh, width)
    columns = torch.zeros(heads * width, (heads - 1) * len(same), dtype=torch.float64)
    for place, (head, entry) in enumerate(product(range(1, heads), same)):
        columns[entry, place], columns[head * width + entry, place] = -1, 1
    answers = [_same_averages(narrow, same), _in_general_position(narrow)]
    answers.append(exact.rank_is(columns, heads * width - bound, "null vectors of Z, independent:"))
    free = sample_examples(heads * width + 2, tokens, width, shared=False, law="integer")

    one = Examples(free.contexts[:1], free.queries[:1])

    def run(values: Counterexample) -> tuple[str, bool]:
        weights = _weights_of(values, ("first", "second"), tokens)
        averages = features(_heads_with(weights.log(), one), one).unflatten(1, (2, width))[0, :, fresh:]
        apart = (averages[0] - averages[1]).abs().max().item()
        rank = int(numerical_rank(features(random_heads(heads, width, width, 0), free)))
        words = f"averages of two heads differ by {apart:.3g}, and Z of random tokens has rank {rank}, above {bound}"
        return words, apart > 1e-6 and rank > bound

    return certify(
        f"There are data in general position on which Z never has a larger rank than the promised {bound}.",
        f"H = {heads}, n = {tokens}, d = {width}, {count} examples; all weights that sum to 1 in every head",
        answers,
        Control.of("the tokens are random", _same_averages(one, same, softmax=True), run),
    )


def _in_general_position(examples: Examples) -> Answer:
    """Test whether every ``width`` of the tokens and queries are independent, by their determinants."""
    vectors = torch.cat([examples.context_of_each.flatten(0, 1), examples.queries])
    subsets = torch.combinations(torch.arange(len(vectors)), vectors.shape[1])

    def holds(batch: exhaust.Batch) -> Bool[Tensor, " members"]:
        return torch.linalg.det(vectors[subsets[batch["subset"]]]).abs() > 0.5  # whole entries: whole determinants

    return exhaust.every(
        {"subset": len(subsets)}, holds, f"every {vectors.shape[1]} tokens and queries are independent"
    )


def _is_softmax(weights: Sequence[Term]) -> Term:
    return z3.And(z3.Sum(weights) == 1, *(weight > 0 for weight in weights))


def _same_averages(examples: Examples, entries: range, softmax: bool = False) -> Answer:
    """Test whether two heads' averages of the tokens agree in some entries, for all weights that sum to 1.

    Args:
        softmax: for those alone that softmax can give, which are above 0.
    """
    first, second = (z3.RealVector(name, examples.tokens) for name in ("first", "second"))
    sums = [_is_softmax(weights) if softmax else z3.Sum(weights) == 1 for weights in (first, second)]
    tokens = examples.context_of_each[..., entries.start :].mT.flatten(0, 1).unique(dim=0).tolist()
    equal = [smt.affine(row, first) == smt.affine(row, second) for row in tokens]
    return smt.prove(sums, z3.And(equal), "averages of two heads, in the last entries of the tokens of each context")


def certify_promise_in_general_position(width: int = 60) -> Certificate:
    """Appendix I.1: the promised ``d + (H - 1)(d - ceil(d / n))`` is at least ``(H + 2) d / 3`` from two tokens on.

    And less than ``H (d - 1) + 1`` for two heads or more. For all sizes by z3, from what :func:`fresh_examples`
    satisfies; that it does is tried by exhaustion, with the count itself, up to a width.

    Raises:
        ParameterError: a width below 3.
    """
    require(width=(width, 3, None))
    H, n, d, fresh = z3.Ints("H n d fresh")

    def holds(batch: Batch) -> Bool[Tensor, " members"]:
        n, d = batch["n"] + 1, batch["d"] + 2
        return torch.tensor([a >= b or _is_promise(a, b) for a, b in zip(n.tolist(), d.tolist(), strict=True)])

    definition = "n (d - fresh - 1) < d <= n (d - fresh), count = d + (H - 1) fresh for H = 1, 2, 5; n from 1, d from 2"
    given = [H >= 1, n < d, n * (d - fresh - 1) < d, d <= n * (d - fresh), fresh >= 0]
    least = 3 * (d + (H - 1) * fresh) >= (H + 2) * d
    below = z3.Implies(H >= 2, d + (H - 1) * fresh < H * (d - 1) + 1)

    def run(values: Counterexample) -> tuple[str, bool]:
        H, d = values["H"], values["d"]
        count = capacity_in_general_position(H, 1, d)
        return f"{count} examples are promised for H = {H}, d = {d}, n = 1", 3 * count < (H + 2) * d

    return certify(
        "General position promises at least (H + 2) d / 3 examples, and fewer than H (d - 1) + 1 for H >= 2.",
        f"all H >= 1 and 2 <= n < d; that the count is this one, up to d = {width}",
        [
            exhaust.every({"n": width - 1, "d": width - 1}, holds, definition),
            smt.prove([*given, n >= 2], z3.And(least, below), "fresh = d - ceil(d / n)"),
        ],
        Control.of("contexts of a single token", smt.prove([*given, n == 1], least), run),
    )


def _is_promise(tokens: int, width: int) -> bool:
    fresh = fresh_examples(tokens, width, width + 1)
    counts = [capacity_in_general_position(heads, tokens, width) for heads in (1, 2, 5)]
    rounded_up = tokens * (width - fresh - 1) < width <= tokens * (width - fresh)
    return rounded_up and counts == [width + heads * fresh for heads in (0, 1, 4)]
