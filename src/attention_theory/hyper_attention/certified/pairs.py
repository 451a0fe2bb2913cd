"""Layers of pairwise interactions, run on polynomials or on terms of z3 (Sections 3 to 5, Appendix B, Remark F.6)."""

from itertools import product

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exact, exhaust, smt, symbolic
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.certificates.smt import z3
from attention_theory.certificates.symbolic import Terms
from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions, represent
from attention_theory.hyper_attention.layers.hyper_feature_attention import linear_hyper_feature_attention
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.coupled_features import (
    CoupledHead,
    Factor,
    Weight,
    coupled_interaction,
    embed_features,
    layer_of,
)
from attention_theory.hyper_attention.worlds.parallelogram import linear_stack
from attention_theory.hyper_attention.worlds.side_by_side import every_token, layer_within_reach
from attention_theory.validation import Form, refuse_unless

#: An embedding that is invertible and not orthogonal, whose inverse is whole.
_EMBEDDING = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [1.0, 2.0, 1.0]], dtype=torch.float64)


def sequences(size: int, length: int) -> Int[Tensor, "samples length"]:
    """Every sequence of so many tokens."""
    return torch.tensor(list(product(range(size), repeat=length)))


def certify_representation(length: int) -> Certificate:
    """Theorem 3.1: the built layer equals every interaction of three symbols, for all f and w at once.

    The built score matrix is taken to be linear in f and free of w, and the value matrix linear in w and free of f, so
    those of unit tables make all of them. That the other table makes no difference is tried on units.
    """
    size, unit = 3, torch.eye(3, dtype=torch.float64)
    unit_weights = [unit[:, [symbol]] for symbol in range(size)]
    scores = [
        represent(torch.outer(unit[a], unit[b]), unit_weights[0], _EMBEDDING)[0] for a in range(3) for b in range(3)
    ]
    values = [represent(unit, column, _EMBEDDING)[1] for column in unit_weights]
    heavy = represent(torch.outer(unit[0], unit[1]), 3 * unit_weights[1], _EMBEDDING)[0]
    full = represent(torch.outer(unit[0], unit[1]), unit_weights[1], _EMBEDDING)[1]
    refuse_unless(
        torch.equal(heavy, scores[1]) and torch.equal(full, values[1]),
        "represent must make C of f alone and W of w alone, got matrices that depend on both",
    )
    f, w = symbolic.variables(f=(3, 3), w=(3, 1)).values()
    score = torch.einsum("p,pij->ij", f.flatten(), torch.stack(scores))
    value = torch.einsum("b,bik->ik", w.flatten(), torch.stack(values))
    symbols = sequences(size, length)

    def ask(score: Tensor) -> Answer:
        outputs = linear_attention(_EMBEDDING[symbols], score, value)
        return symbolic.equal(outputs, aggregate_interactions(symbols, f, w), "row i: the layer = the interaction")

    def run(values: Counterexample) -> tuple[str, bool]:
        effect, weights = symbolic.at(values, f=(3, 3), w=(3, 1)).values()
        built = represent(effect, weights, _EMBEDDING)[1]
        outputs = linear_attention(_EMBEDDING[symbols], _EMBEDDING.mT @ effect @ _EMBEDDING, built)
        off = (outputs - aggregate_interactions(symbols, effect, weights)).abs().max().item()
        return f"the layer is off by {off}", off > 0.1

    transposed = torch.einsum("ai,ab,bj->ij", _EMBEDDING, f, _EMBEDDING)
    return certify(
        "One layer of linear self-attention equals the aggregate pairwise interaction, token by token.",
        f"all real f and w on three symbols, all sequences of {length} tokens, an embedding that is not orthogonal; "
        "C is taken to be linear in f, W in w",
        ask(score),
        Control.of("the transpose of the embedding in place of its inverse", ask(transposed), run),
    )


def _turn(tangent: Tensor) -> Float[Tensor, "3 3"]:
    """``1 + t^2`` times the turn of the first two coordinates by the angle whose half has the tangent t."""
    one, zero = tangent * 0 + 1, tangent * 0
    length, cosine, sine = one + tangent * tangent, one - tangent * tangent, tangent + tangent
    return torch.stack(
        [torch.stack([cosine, -sine, zero]), torch.stack([sine, cosine, zero]), torch.stack([zero, zero, length])]
    )


def certify_turn() -> Certificate:
    """Corollary B.1: an embedding that is turned, and score and value with it, gives the same function.

    Every rotation is a product of turns of two coordinates, and the statement for each of them makes it for the
    product.
    """
    x, c, w, t = symbolic.variables(x=(2, 3), c=(3, 3), w=(3, 1), t=()).values()
    turn, length = _turn(t), 1 + t * t
    three = length * length * length * length * length * length
    before = linear_attention(x, c, w)

    def run(values: Counterexample) -> tuple[str, bool]:
        x, c, w, t = symbolic.at(values, x=(2, 3), c=(3, 3), w=(3, 1), t=()).values()
        turn = _turn(t) / (1 + t * t)
        off = (linear_attention(x @ turn.mT, c, turn @ w) - linear_attention(x, c, w)).abs().max().item()
        return f"the output moves by {off:.3g}", off > 1e-6

    return certify(
        "A layer whose embedding is turned, with C' = Q C Q^T and W' = Q W, is the same function.",
        "all sequences of two tokens, C and one column W of width 3, every turn of the first two coordinates; other "
        "planes by another order of the coordinates, and all rotations are products of turns; no reflections",
        symbolic.equal(
            linear_attention(x @ turn.mT, turn @ c @ turn.mT, turn @ w), three * before, "turns scaled by 1 + t^2"
        ),
        Control.of(
            "C is left as it was",
            symbolic.equal(
                linear_attention(x @ turn.mT, c, turn @ w), length * length * length * length * before, "C, not Q C Q^T"
            ),
            run,
        ),
    )


def certify_narrow_layers() -> Certificate:
    """The paper's Theorem B.2 fails: each layer of width 1 errs by at least 1/2 where the stated bound is 0."""
    f = torch.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    w = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    symbols = sequences(2, 2)
    wanted = aggregate_interactions(symbols, f, w)

    def ask(embedding: Tensor, score: Tensor, value: Tensor) -> Answer:
        errors = symbolic.entries(linear_attention(embedding[symbols], score, value) - wanted).flat
        half = smt.rational(0.5)
        return smt.prove([], z3.Or([z3.Or(error >= half, error <= -half) for error in errors]), "a token errs by 1/2")

    def reals(name: str, *shape: int) -> Terms:
        return Terms.of([[z3.Real(f"{name}{row}{column}") for column in range(shape[1])] for row in range(shape[0])])

    def run(values: Counterexample) -> tuple[str, bool]:
        score, value = (
            torch.tensor(
                [[float(values.get(f"{name}{row}{column}", 0)) for column in range(columns)] for row in (0, 1)]
            )
            for name, columns in (("c", 2), ("w", 1))
        )
        outputs = linear_attention(torch.eye(2).double()[symbols], score.double(), value.double())
        off = (outputs - wanted).abs().max().item()
        return f"a layer of width 2 errs by {off} at most", off < 0.5

    two = Terms.of(torch.eye(2, dtype=torch.float64))
    return certify(
        "For f(0, 1) = 1 and w_1 = 1, all else 0, one dimension errs by at least 1/2 at some token of some sequence of "
        "two, where the printed bound is 0.",
        "all real embeddings of two symbols in one dimension, all real C and W",
        ask(reals("b", 2, 1), reals("c", 1, 1), reals("w", 1, 1)),
        Control.of("two dimensions", ask(two, reals("c", 2, 2), reals("w", 2, 1)), run),
    )


def certify_parallelogram() -> Certificate:
    """Remark F.6: a layer takes a parallelogram of tokens to one, so every stack of layers does."""
    width, heads = 3, 2
    shapes = {"x": (4, width), "c": (heads, width, width), "w": (heads, width, width)}
    free, score, value = symbolic.variables(**shapes).values()

    def tokens(free: Tensor, moved: float = 0.0) -> Tensor:
        """Four corners, of which the last is made from the others, and one more token."""
        corner = free[1] + free[2] - free[0] + moved * free[3]
        return torch.stack([free[0], free[1], free[2], corner, free[3]])

    def ask(moved: float, skip: bool) -> Answer:
        outputs = linear_stack(tokens(free, moved), [(score, value)], skip)
        sides = outputs[0] + outputs[3], outputs[1] + outputs[2]
        return symbolic.equal(*sides, f"opposite corners of the outputs, skip connection: {skip}")

    def run(values: Counterexample) -> tuple[str, bool]:
        free, score, value = symbolic.at(values, **shapes).values()
        outputs = linear_stack(tokens(free, 1.0), [(score, value)])
        off = (outputs[0] - outputs[1] - outputs[2] + outputs[3]).abs().max().item()
        return f"the outputs are off by {off:.3g}", off > 1e-6

    return certify(
        "Four tokens with x00 - x01 - x10 + x11 = 0 get outputs with the same sum, so those of every stack have it.",
        f"all sequences of five tokens of width {width}, four of them a parallelogram, all weights of "
        f"{heads} heads, with a skip connection and without; any depth by "
        "induction over the layers",
        [ask(0.0, skip=False), ask(0.0, skip=True)],
        Control.of("the last corner is moved", ask(1.0, skip=False), run),
    )


def certify_reach() -> Certificate:
    """Beyond Remark F.6: the sequences of its proof force an effect to be one that a layer represents.

    A layer multiplies all tokens by one matrix that is made of ``X^T X`` alone; so does a stack, whose layers read the
    same ``X^T X`` through such matrices. Then a sum over tokens that is within reach obeys a linear equation for every
    parallelogram of tokens i and for every two sets of tokens j with the same ``X^T X``. On three features of two
    values these equations leave as many effects as layers have.
    """
    heads, width = 2, 2
    shapes = {"x": (3, width), "c": (heads, width, width), "w": (heads, width, width)}
    x, score, value = symbolic.variables(**shapes).values()

    def common(x: Tensor, seen: Tensor, score: Tensor, value: Tensor, skip: bool) -> Tensor:
        matrix = (score @ (seen.mT @ seen) @ value).sum(dim=0)
        return x @ matrix + x if skip else x @ matrix

    def ask(tokens: int, skip: bool) -> Answer:
        outputs = linear_stack(x, [(score, value)], skip)
        return symbolic.equal(outputs, common(x, x[:tokens], score, value, skip), f"X M(X^T X), skip: {skip}")

    def run(values: Counterexample) -> tuple[str, bool]:
        x, score, value = symbolic.at(values, **shapes).values()
        off = (linear_stack(x, [(score, value)]) - common(x, x[:2], score, value, skip=False)).abs().max().item()
        return f"the outputs are off by {off:.3g}", off > 1e-6

    tokens, value_vectors = every_token((2, 2, 2)), layer_within_reach(torch.eye(8).double(), (2, 2, 2))[1][..., 0]
    seen = torch.einsum("jh,jb->jhb", tokens @ value_vectors.mT, tokens).flatten(1)
    functions, equations = torch.kron(tokens, seen), _equations_of_five_tokens()
    return certify(
        "Linear attention with any weights multiplies the tokens by one matrix made of X^T X, and the sums over tokens "
        "that such maps represent on sequences of five tokens are those of one layer.",
        "the matrix: three tokens of width two, two heads, all weights, with a skip connection and without; any depth "
        "by induction. The sums: three features of two values side by side, all real effects",
        [
            ask(3, skip=False),
            ask(3, skip=True),
            symbolic.equal(equations @ functions, torch.zeros(len(equations), 108).double(), "a layer's effects fit"),
            exact.rank_is(functions, 28, "the effects of layers: 4 dimensions in i times 7 in j"),
            exact.rank_is(equations, 64 - 28, "the equations on all 64 entries of an effect"),
        ],
        Control.of("X^T X without the last token", ask(2, skip=False), run),
    )


def _equations_of_five_tokens() -> Float[Tensor, "equations entries"]:
    """Equations for an effect from five tokens with three features of two values, as rows on its 64 entries.

    Four tokens i with ``x_00 - x_01 - x_10 + x_11 = 0`` and any fifth; and a token i with the four tokens of even sum
    against the same with the four of odd sum, which have the same ``X^T X``.
    """
    bits = sequences(2, 3)
    place = bits @ torch.tensor([4, 2, 1])
    rows = []
    for fixed, first, second in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        for value in range(2):
            corners = bits[:, fixed] == value
            signs = corners * (1 - 2 * bits[:, first]) * (1 - 2 * bits[:, second])
            for fifth in place:
                rows.append(torch.outer(signs, corners + (place == fifth)).flatten())
    parity = 1 - 2 * (bits.sum(dim=1) % 2)
    rows += [torch.outer(place == token, parity).flatten() for token in place]
    return torch.stack(rows).double()


def certify_feature_layer() -> Certificate:
    """Definition 5.1: one head on one-hots side by side equals a head of Eq. 3 with two factors and two weights.

    Both are linear in each table, so unit tables make all of them.
    """
    values, entities = (2, 2), 3
    unit = torch.eye(4, dtype=torch.float64).reshape(4, 2, 2)
    every = sequences(2, 2 * entities).reshape(-1, entities, 2)
    tokens = embed_features(every, values)

    def head(first: int, second: int, weight: int, other: int) -> CoupledHead:
        factors = [Factor(0, 0, unit[first]), Factor(1, 1, unit[second])]
        return CoupledHead(factors, [Weight(0, torch.eye(2).double()[weight]), Weight(1, torch.eye(2).double()[other])])

    def agree(made: CoupledHead, form: Form) -> bool:
        layer = linear_hyper_feature_attention(tokens, *layer_of(made, values), form)[..., 0]
        return torch.equal(layer, coupled_interaction(every, [made]))

    def holds(form: Form) -> Answer:
        def of_batch(batch: Batch) -> Tensor:
            numbers = zip(*(batch[name].tolist() for name in ("f1", "f2", "w1", "w2")), strict=True)
            return torch.tensor([agree(head(*four), form) for four in numbers])

        words = f"the layer = the target at all {len(every)} sequences of {entities} entities"
        return exhaust.every({"f1": 4, "f2": 4, "w1": 2, "w2": 2}, of_batch, words)

    def run(values: Counterexample) -> tuple[str, bool]:
        made = head(*(values[name] for name in ("f1", "f2", "w1", "w2")))
        wrong = not agree(made, "printed")
        return f"the layer with products of matrices {'differs from' if wrong else 'equals'} the target", wrong

    return certify(
        "One head of linear HyperFeatureAttention equals one head of the target of Eq. 3.",
        f"all real tables, factors of feature 0 with 0 and of 1 with 1, a weight on each, two values each, all "
        f"sequences of {entities} entities; the code is taken to be linear in each table",
        holds("correct"),
        Control.of("matrices are multiplied as matrices, as in Appendix F.2", holds("printed"), run),
    )
