"""Worlds whose values one layer computes: agents on a loop, alleles, hunters and prey (Appendices B.1, B.2, F.1)."""

from itertools import combinations, permutations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust, smt, symbolic
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.certificates.smt import Term, z3
from attention_theory.certificates.symbolic import Terms
from attention_theory.encodings import one_hot
from attention_theory.hyper_attention.interactions.interactions import outputs_from_counts
from attention_theory.hyper_attention.layers.hyper_feature_attention import linear_hyper_feature_attention
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.collisions import simulate, window_matrix
from attention_theory.hyper_attention.worlds.coupled_features import embed_features, layer_of
from attention_theory.hyper_attention.worlds.genotype import activation, activation_score
from attention_theory.hyper_attention.worlds.predator_prey import (
    Edges,
    X,
    Y,
    feature_sizes,
    simulated_values,
    value_heads,
)
from attention_theory.validation import Form

#: Grids and radii that are played out; the last window of each grid meets itself on the loop.
_GRIDS = [(grid, radius) for grid in range(4, 9) for radius in range(grid // 4 + 1)]


def certify_collisions() -> Certificate:
    """Example 1: the layer is the value with the bias of -1, for any number of agents, by the play of all starts.

    A row ``a e_n`` enters the layer as ``a^2`` agents at height n, so that real a stand for every number of agents. No
    layer is the value without the bias, as one number of agents at a single height and another show.
    """

    def ask_layer(grid: int, radius: int, diagonal: float) -> Answer:
        touch = _touching(grid, radius).double()
        (a,) = symbolic.variables(a=grid).values()
        rows = [torch.cat([one_hot(grid)[[height]], a[:, None] * one_hot(grid)]) for height in range(grid)]
        score = window_matrix(grid, radius) - diagonal * one_hot(grid)
        outputs = linear_attention(torch.stack(rows), score, -torch.ones(grid, 1, dtype=torch.float64))[:, 0, 0]
        words = f"N = {grid}, R = {radius}: for each height the layer = -1 - the agents that touch one at this height"
        return symbolic.equal(outputs, -1 - touch @ (a * a), words)

    def ask_play(grid: int, radius: int) -> Answer:
        touch = _touching(grid, radius)

        def holds(batch: Batch) -> Tensor:
            starts = torch.stack([batch["x1"], batch["y1"], batch["x2"], batch["y2"]], dim=1).reshape(-1, 2, 2)
            return simulate(starts, grid, radius)[1][:, 0, 1] == touch[batch["y1"], batch["y2"]]

        words = f"R = {radius}: who touches does not depend on x"
        return exhaust.every(dict.fromkeys(("x1", "y1", "x2", "y2"), grid), holds, words)

    def run(values: Counterexample) -> tuple[str, bool]:
        numbers = torch.tensor([values[f"a_{height}"] ** 2 for height in range(4)])
        heights = torch.repeat_interleave(torch.arange(4), numbers)
        outputs = linear_attention(one_hot(4)[heights], window_matrix(4, 0) - one_hot(4), -torch.ones(4, 1).double())
        starts = torch.stack([torch.zeros_like(heights), heights], dim=1)[None]
        off = (outputs[:, 0] + 1 + simulate(starts, 4, 0)[1][0].sum(dim=1)).abs().max().item()
        return f"{len(heights)} agents: the layer is off by {off:.0f}", off > 0.5

    return certify(
        "The layer of Eqs. 14 and 15 returns the value of every agent less 1, and no layer returns the value itself "
        "for two numbers of agents.",
        "grids of 4 to 8 cells with every R up to N/4, all starts, any number of agents; no layer: all weights, every "
        "two numbers up to 6",
        [ask(grid, radius) for grid, radius in _GRIDS for ask in (ask_play, lambda g, r: ask_layer(g, r, 0.0))]
        + _ask_two_lengths({length: 1 - length for length in range(1, 7)}),
        Control.of("the diagonal of C is 0", ask_layer(4, 0, 1.0), run),
    )


def _touching(grid: int, radius: int) -> Bool[Tensor, "grid grid"]:
    """Which two heights touch in the play, of agents that start at x = 0."""
    heights = torch.cartesian_prod(torch.arange(grid), torch.arange(grid))
    starts = torch.stack([torch.zeros_like(heights), heights], dim=-1)
    return simulate(starts, grid, radius)[1][:, 0, 1].reshape(grid, grid)


def _ask_two_lengths(wanted: dict[int, int]) -> list[Answer]:
    """Whether no functional tensor gives copies of one symbol what is wanted, at two of these lengths."""
    tensor = Terms.of([[[z3.Real("T_00")]]])
    outputs = {
        length: symbolic.entries(outputs_from_counts(torch.zeros(1, length, dtype=torch.int64), tensor)).flat[0]
        for length in wanted
    }
    return [
        smt.prove([outputs[one] == wanted[one]], outputs[other] != wanted[other], f"lengths {one} and {other}")
        for one, other in combinations(wanted, 2)
    ]


def certify_saturated_alleles() -> Certificate:
    """Appendix B.2, length: with the ReLU layer the printed weights are right for all strands of all lengths.

    A strand enters the layer through the counts of its alleles alone: here one token per allele, with a count as its
    value. Each allele has its own row of scores, so one allele with every list of activators stands for a dictionary.
    """
    size, trained = 4, 3
    factor = max(trained, size)
    count = z3.IntVector("count", size)
    strand = [one >= 0 for one in count[1:]] + [count[0] >= 1]
    lists = [[allele for allele in range(size) if number >> allele & 1] for number in range(2**size)]

    def after(dictionary: dict[int, list[int]], factor: int) -> Term:
        score = activation_score(dictionary, size, "printed", trained)
        exact = Terms.of([[smt.rational(entry) for entry in row] for row in score.tolist()])
        values = Terms.of([[z3.ToReal(one)] for one in count])
        z = symbolic.entries(linear_attention(Terms.of(one_hot(size)), exact, values))[0, 0]
        return 1 - smt.relu(1 - factor * z)

    def ask(scaled: bool) -> Answer:
        right = [after({1: [0]}, factor) == 0]
        for activators in lists:
            present = z3.Or([count[allele] >= 1 for allele in activators]) if activators else z3.BoolVal(True)
            made = after({0: activators}, factor if scaled else 1)
            right.append(smt.within(made - z3.If(present, z3.RealVal(1), z3.RealVal(0)), -1e-15, 1e-15))
        words = f"min(1, c z) for all {len(lists)} lists of activators of allele 0, and none; scaled: {scaled}"
        return smt.prove(strand, z3.And(right), words)

    def diagonal(batch: Batch) -> Tensor:
        return torch.tensor([_diagonal_is_right({0: lists[number]}, size) for number in batch["list"].tolist()])

    def run(values: Counterexample) -> tuple[str, bool]:
        numbers = torch.tensor([values.get(f"count__{allele}", 0) for allele in range(size)])
        symbols = torch.repeat_interleave(torch.arange(size), numbers)
        off = 0.0
        for activators in lists:
            z = _outputs(symbols, activation_score({0: activators}, size, "printed", trained))[0]
            wanted = (activation(symbols, {0: activators}, size)[0] > 0).double()
            off = max(off, (1 - torch.relu(1 - z) - wanted).abs().item())
        return f"the strand {symbols.tolist()}: off by {off:.3g}", off > 0.1

    words = "the diagonal layer = the activation, on all strands without repeats"
    return certify(
        "After the ReLU layer min(1, c z) the printed weights say of every allele whether an activator is present. "
        "Without it the diagonal layer is right if no allele repeats; if one that is always active repeats, no layer "
        "is right at two lengths.",
        "four alleles, every list of activators, L* = 3, c = 4: with the ReLU layer strands of every length with any "
        "repeats, without it all strands; no layer: all weights, every two lengths up to 6",
        [
            ask(scaled=True),
            exhaust.every({"list": 2**size}, diagonal, words),
            *_ask_two_lengths(dict.fromkeys(range(1, 7), 1)),
        ],
        Control.of("min(1, z), without the factor", ask(scaled=False), run),
    )


def _outputs(symbols: Int[Tensor, "... length"], score: Float[Tensor, "size size"]) -> Float[Tensor, "... length"]:
    ones = torch.ones(len(score), 1, dtype=torch.float64)
    return linear_attention(one_hot(len(score))[symbols], score, ones)[..., 0]


def _diagonal_is_right(dictionary: dict[int, list[int]], size: int) -> bool:
    score = activation_score(dictionary, size)
    strands = [torch.tensor(list(permutations(range(size), length))) for length in range(1, size + 1)]
    errors = [(_outputs(some, score) - activation(some, dictionary, size)).abs().max().item() for some in strands]
    return max(errors) < 1e-12


def certify_hunters() -> Certificate:
    """Appendix F.1: the three heads are the values of the play, for worlds of any number of hunters and prey.

    Both are sums over the other entities, the layer by an identity and the play as it counts meetings pair by pair. So
    all worlds of two entities make all. On the smallest grid, all worlds of three are played too.
    """

    def ask(size: int, entities: int, form: Form, edges: Edges) -> Answer:
        names = {f"{name}{number}": count for number in range(entities) for name, count in _features(size).items()}

        def holds(batch: Batch) -> Tensor:
            return (_off_the_play(_world(batch, size, entities), size, form, edges) < 1e-9).all(dim=-1)

        return exhaust.every(names, holds, f"{form} heads = the play, grid {edges!r}, {size} by {size} cells")

    def run(values: Counterexample) -> tuple[str, bool]:
        world = _world({name: torch.tensor([value]) for name, value in values.items()}, 3, 2)
        off = _off_the_play(world, 3, "printed", "torus").max().item()
        return f"the printed heads are off by {off:.0f} on a torus", off > 0.5

    cases: list[tuple[Form, Edges]] = [("correct", "torus"), ("printed", "by pair")]
    return certify(
        "With one factor more in two heads the layer is the value on a torus; the printed heads are, if pairs of one "
        "policy move between walls and all others on a torus.",
        "grids of 2 to 5 cells a side, all worlds of two entities, and so of any number; of three on the smallest",
        [_ask_additive(order=2, width=2), _ask_additive(order=4, width=1)]
        + [ask(size, number, *case) for size, number in ((2, 2), (2, 3), (3, 2), (4, 2), (5, 2)) for case in cases],
        Control.of("the printed heads on a torus", ask(3, 2, "printed", "torus"), run),
    )


def _features(size: int) -> dict[str, int]:
    """The features of an entity in the order of its columns, and their numbers of values; the diagonal follows."""
    return {"species": 2, "policy": 2, "x": size, "y": size}


def _world(batch: Batch, size: int, entities: int) -> Int[Tensor, "worlds entities features"]:
    """Worlds from the features of their entities."""
    rows = []
    for number in range(entities):
        columns = [batch[f"{name}{number}"] for name in _features(size)]
        rows.append(torch.stack([*columns, (columns[X] - columns[Y]) % size], dim=-1))
    return torch.stack(rows, dim=-2)


def _off_the_play(
    world: Int[Tensor, "worlds entities features"], size: int, form: Form, edges: Edges
) -> Float[Tensor, "worlds entities"]:
    """How far the layer of the heads is from the values of the play."""
    tokens = embed_features(world, feature_sizes(size))
    layers = [layer_of(head, feature_sizes(size)) for head in value_heads(size, form)]
    outputs = torch.stack([linear_hyper_feature_attention(tokens, *layer)[..., 0] for layer in layers]).sum(dim=0)
    return (outputs - simulated_values(world, size, edges)).abs()


def _ask_additive(order: int, width: int) -> Answer:
    """Whether one entity more changes an output by as much with another entity as without it."""
    x, c, w = symbolic.variables(x=(3, width), c=(order, width, width), w=(order, width, 1)).values()

    def first(*tokens: int) -> Tensor:
        return linear_hyper_feature_attention(x[list(tokens)], c, w)[0, 0]

    words = f"{order} factors of width {width}: an output is a sum over the tokens"
    return symbolic.equal(first(0, 1, 2), first(0, 1) + first(0, 2) - first(0), words)
