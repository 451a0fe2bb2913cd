"""Linear HyperAttention as polynomials: its definition, what it represents, its linear form (Section 6, App. G)."""

from itertools import combinations

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, exact, exhaust, smt, symbolic
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.certificates.smt import z3
from attention_theory.certificates.symbolic import Terms
from attention_theory.hyper_attention.certified.pairs import sequences
from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions
from attention_theory.hyper_attention.layers.linear_hyper_attention import (
    aggregate_tuples,
    factors_of,
    linear_hyper_attention,
    pair_counts,
    tensor_from_factors,
)
from attention_theory.hyper_attention.layers.linear_sums import cubic_pair_sum, linear_pair_sum
from attention_theory.hyper_attention.layers.pair_gram import four_fold_counts, tuple_versatility
from attention_theory.hyper_attention.layers.sums import SUMS, Sum
from attention_theory.validation import Form

_TABLES = {"f": (2, 2, 2), "w": (2, 2, 1)}


def certify_five_sums() -> Certificate:
    """Definition 6.1: with each of the five sums the layer is its pair counts times the entries of C and W."""
    symbols = sequences(2, 4)
    hot = torch.eye(2, dtype=torch.float64)[symbols]
    f, w = symbolic.variables(**_TABLES).values()

    def from_counts(f: Tensor, w: Tensor, sum_over: Sum) -> Tensor:
        pairs = torch.einsum("nbc,abc,bcz->naz", pair_counts(symbols, 2, sum_over), f, w)
        return torch.einsum("nia,naz->niz", hot, pairs)

    def ask(of_layer: Sum, of_counts: Sum) -> Answer:
        words = f"the layer over {of_layer!r} = the pair counts over {of_counts!r}"
        return symbolic.equal(linear_hyper_attention(hot, f, w, of_layer), from_counts(f, w, of_counts), words)

    def run(values: Counterexample) -> tuple[str, bool]:
        f, w = symbolic.at(values, **_TABLES).values()
        off = (linear_hyper_attention(hot, f, w, "le") - from_counts(f, w, "lt")).abs().max().item()
        return f"the sum over j1 < j2 is off by {off:.3g}", off > 1e-6

    return certify(
        "The layer of order 3 is C and W entry by entry, times the pairs of positions that hold the two symbols.",
        "all real C and W on two symbols, all sequences of four tokens, each of the five sums",
        [ask(sum_over, sum_over) for sum_over in SUMS],
        Control.of("another of the five sums", ask("le", "lt"), run),
    )


def certify_tuple_representation() -> Certificate:
    """Theorem G.4: the layer whose C and W are the tables equals the sum over all tuples, at orders 2 to 4.

    At order 3 the tensors are made from factors of rank ``size ** 2``.
    """
    symbols = sequences(2, 3)
    hot = torch.eye(2, dtype=torch.float64)[symbols]

    def ask(order: int, sum_over: Sum) -> Answer:
        f, w = symbolic.variables(f=(2,) * order, w=(*(2,) * (order - 1), 1)).values()
        made = tensor_from_factors(factors_of(f)) if order == 3 else f
        layer = linear_hyper_attention(hot, made, w, sum_over)
        words = f"order {order}: a layer over {sum_over!r} = the interaction over all tuples"
        return symbolic.equal(layer, aggregate_tuples(symbols, f, w, "all"), words)

    def run(values: Counterexample) -> tuple[str, bool]:
        f, w = symbolic.at(values, **_TABLES).values()
        off = (linear_hyper_attention(hot, f, w, "le") - aggregate_tuples(symbols, f, w, "all")).abs().max().item()
        return f"the layer is off by {off:.3g}", off > 1e-6

    return certify(
        "A layer of order n that sums over all tuples equals the interaction of n bodies.",
        "orders 2, 3 and 4, all real f and w on two symbols, all sequences of three tokens; order 3 from factors",
        [ask(order, "all") for order in (2, 3, 4)],
        Control.of("the layer sums over j1 <= j2 alone", ask(3, "le"), run),
    )


def certify_low_rank_form() -> Certificate:
    """Appendix G.1: with C and W sums of R outer products, the layer is a sum over R products of projected tokens."""
    shapes = {"x": (3, 2)} | dict.fromkeys(("q", "k1", "k2", "v1", "v2"), (2, 2))

    def sides(keys: int, x: Tensor, *factors: Tensor) -> tuple[Tensor, Tensor]:
        """The layer from factors, and from tensors of which C has the first ``keys`` terms."""
        projected = [x @ factor for factor in factors]
        score = tensor_from_factors([factor[:, :keys] for factor in factors[:3]])
        v1, v2 = factors[3:]
        value = torch.einsum("as,bs->abs", v1, v2)
        return cubic_pair_sum(*projected, sum_over="le"), linear_hyper_attention(x, score, value, "le")

    def ask(keys: int) -> Answer:
        made = symbolic.variables(**shapes).values()
        return symbolic.equal(*sides(keys, *made), f"the layer from factors = from tensors, {keys} terms in C")

    def run(values: Counterexample) -> tuple[str, bool]:
        left, right = sides(1, *symbolic.at(values, **shapes).values())
        off = (left - right).abs().max().item()
        return f"the layer is off by {off:.3g}", off > 1e-6

    return certify(
        "The layer from factors equals the layer with the tensors that are built from them.",
        "all real tokens (three, of width two) and all factors of rank two; the values before their last factor; "
        "the sum over j <= k",
        ask(2),
        Control.of("one term of C is left out", ask(1), run),
    )


def certify_linear_form() -> Certificate:
    """Eq. 43 and its prefix sums: the linear form equals the sum over every pair, for each of the five sums."""
    shapes = dict.fromkeys(("q", "k1", "k2", "v1", "v2"), (4, 2))
    rows = list(symbolic.variables(**shapes).values())

    def ask(of_linear: Sum, of_cubic: Sum, causal: bool) -> Answer:
        words = f"the linear form over {of_linear!r} = every pair over {of_cubic!r}, causal: {causal}"
        linear = linear_pair_sum(*rows, sum_over=of_linear, causal=causal)
        return symbolic.equal(linear, cubic_pair_sum(*rows, sum_over=of_cubic, causal=causal), words)

    def run(values: Counterexample) -> tuple[str, bool]:
        rows = list(symbolic.at(values, **shapes).values())
        off = (linear_pair_sum(*rows) - cubic_pair_sum(*rows, sum_over="le")).abs().max().item()
        return f"Equation 43 is off by {off:.3g}", off > 1e-6

    return certify(
        "The form in linear time equals the sum over every pair of tokens.",
        "four tokens, rank two, all real queries, keys and values; each of the five sums, causal and not",
        [ask(sum_over, sum_over, causal) for sum_over in SUMS for causal in (False, True)],
        Control.of("Equation 43 for the sum over j1 <= j2", ask("all", "le", False), run),
    )


def certify_four_factors() -> Certificate:
    """Lemma G.8: the product of four factors is the pair counts on the diagonal, and 0 elsewhere."""
    size, unit = 3, torch.eye(3, dtype=torch.float64)

    def agree(symbols: Tensor, form: Form) -> bool:
        wanted = torch.einsum("vs,vg,st->vgst", pair_counts(symbols, size, "le"), unit, unit)
        return torch.equal(four_fold_counts(symbols, size, form), wanted)

    def ask(form: Form) -> Answer:
        def holds(batch: Batch) -> Tensor:
            return torch.tensor([agree(symbols, form) for symbols in torch.stack(list(batch.values()), dim=1)])

        return exhaust.every({f"token {place}": size for place in range(4)}, holds, "the four factors = the counts")

    def run(values: Counterexample) -> tuple[str, bool]:
        symbols = torch.tensor(list(values.values()))
        off = (four_fold_counts(symbols, size, "printed") - four_fold_counts(symbols, size)).abs().max().item()
        return f"an entry is off by {off:.0f} of the counts", off > 0

    return certify(
        "The sum of Lemma G.8 is the counts of pairs j <= k where its symbols agree, and 0 elsewhere.",
        "all sequences of four tokens over three symbols",
        ask("correct"),
        Control.of("the last factor is X_jt, as the paper has it", ask("printed"), run),
    )


def certify_pair_versatility() -> Certificate:
    """Assumption G.10: the pair counts of three tokens or more have full rank; those of two tokens have not."""

    def rows(size: int, length: int, symbol: int) -> Float[Tensor, "samples pairs"]:
        symbols = sequences(size, length)
        return pair_counts(symbols[(symbols == symbol).any(dim=1)], size, "le").flatten(1)

    def ask(size: int, length: int, symbol: int) -> Answer:
        words = f"pair counts of the sequences of {length} tokens with symbol {symbol} of {size}:"
        return exact.rank_is(rows(size, length, symbol), size**2, words)

    def run(values: Counterexample) -> tuple[str, bool]:
        rank = int(tuple_versatility(sequences(3, 2), 3).ranks[0])
        return f"two tokens give rank {rank} of 9", rank == values["rank"] < 9

    sizes = [(2, 3), (2, 4), (3, 3), (3, 4), (4, 3)]
    return certify(
        "The counts of pairs of positions j <= k, over all sequences that hold a symbol, have rank |S|^2, for every "
        "symbol.",
        "two symbols and three or four tokens, three symbols and three or four tokens, four symbols and three tokens",
        [ask(size, length, symbol) for size, length in sizes for symbol in range(size)],
        Control.of("sequences of two tokens", ask(3, 2, 0), run),
    )


def certify_skip_trigram() -> Certificate:
    """Appendix G.2.1: one head misses q - 1 or more by what one context word contributes for q queries with q answers.

    The contribution is read from the code for all scores and vectors; with a softmax the scores are other numbers. The
    excess of its squared error over q - 1 is a sum of squares, by Lagrange's identity. Order 3 has any answers.
    """

    def error(f: Tensor, w: Tensor) -> Tensor:
        """The squared error of heads whose rows of f and w are the scores of the queries and the vectors of a word."""
        queries = f.shape[1]
        phrases = torch.stack([torch.zeros(queries, dtype=torch.int64), 1 + torch.arange(queries)], dim=1)
        outputs = -torch.eye(queries, dtype=torch.float64)
        zeros = torch.zeros(queries, queries, dtype=torch.float64)
        for scores, vector in zip(f, w, strict=True):
            effect = torch.cat([torch.cat([zeros[:1, :1], scores[:, None]]), torch.cat([zeros[:1], zeros])], dim=1)
            outputs = outputs + aggregate_interactions(phrases, effect, torch.cat([vector[None], zeros]))[:, -1]
        return (outputs * outputs).sum()

    def ask_one_head(queries: int) -> Answer:
        f, w = symbolic.variables(f=(1, queries), w=(1, queries)).values()
        (missed,) = symbolic.entries(error(f, w)).flat
        a, b = ([entry.as_expr() for entry in symbolic.entries(one).flat] for one in (f, w))
        squares = [(1, sum(x * y for x, y in zip(a, b, strict=True)) - 1)]
        squares += [(1, a[i] * b[j] - a[j] * b[i]) for i, j in combinations(range(queries), 2)]
        return algebra.sum_of_squares(missed.as_expr() - (queries - 1), squares, f"{queries} queries: error less q - 1")

    def ask_order_three(contexts: int, queries: int) -> Answer:
        size = contexts + queries
        phrases = torch.cartesian_prod(torch.arange(contexts), contexts + torch.arange(queries))
        context, query = phrases.unbind(dim=1)
        effect = torch.zeros(size, size, size, dtype=torch.float64)
        effect[query, context, query] = 1.0
        (answers,) = symbolic.variables(w=(size, size, 2)).values()
        outputs = aggregate_tuples(phrases, effect, answers, "le")[:, -1]
        return symbolic.equal(outputs, answers[context, query], f"{contexts} contexts, {queries} queries: any answers")

    f, w = ([[z3.Real(f"{name}{head}{place}") for place in (0, 1)] for head in (0, 1)] for name in "fw")
    given = [smt.within(one, 0, 1) for one in (*f[0], *f[1], *w[0], *w[1])] + [f[0][1] == 0, w[1][0] == 0]
    (of_two,) = symbolic.entries(error(Terms.of(f), Terms.of(w))).flat

    def run(values: Counterexample) -> tuple[str, bool]:
        scores, vectors = (
            torch.tensor([[float(values.get(str(one), 0)) for one in row] for row in rows]).double() for rows in (f, w)
        )
        missed = error(scores, vectors).item()
        return f"two heads miss {missed:.3g}", missed < 1

    return certify(
        "By the contribution of one context word, one head has a squared error of at least q - 1 for q queries with "
        "different answers; order 3 gives every pair of words any answer.",
        "2 to 4 queries, all real scores and vectors, so with a softmax too; order 3: two and three contexts and "
        "queries, all real answers",
        [ask_one_head(queries) for queries in (2, 3, 4)] + [ask_order_three(size, size) for size in (2, 3)],
        Control.of("two heads", smt.prove(given, of_two >= 1, "two heads, two queries: error"), run),
    )
