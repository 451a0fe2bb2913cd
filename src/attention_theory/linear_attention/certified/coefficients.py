"""Models that are one function: exact ranks of the features, and of the map from head matrices to coefficients."""

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, product
from math import comb

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, exact, symbolic
from attention_theory.certificates.algebra import sympy
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.symbolic import trace
from attention_theory.linear_attention.learning.levenberg_marquardt import fit_many
from attention_theory.linear_attention.learning.quadratic import Quadratic
from attention_theory.linear_attention.model.features import certificate_features, cubic_features, pairs, psi
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.linear_attention.model.parameters import (
    coefficients,
    distance,
    head_matrix,
    heads_from_matrix,
    lift,
)
from attention_theory.validation import require


def whole_inputs(width: int, tokens: int) -> Float[Tensor, "inputs tokens width"]:
    """Inputs of one or two tokens at which a sum of products is 0 only if it is 0 everywhere.

    That is so for products of three entries of the last token, or of one with two of the token before, or of fewer. The
    last token runs through the unit vectors and all sums of three, the one before through 0 and all sums of two.

    Raises:
        ParameterError: another number of tokens, or a width below 1.
    """
    require(width=(width, 1, None), tokens=(tokens, 1, 2))
    unit = torch.eye(width, dtype=torch.float64)
    twos, threes = (
        torch.stack([unit[list(rows)].sum(dim=0) for rows in combinations_with_replacement(range(width), count)])
        for count in (2, 3)
    )
    last = torch.cat([unit, threes])
    if tokens == 1:
        return last[:, None]
    return torch.stack([torch.stack(pair) for pair in product(torch.cat([0 * unit[:1], twos]), last)])


def certify_features(width: int) -> Certificate:
    """Algorithm 2: the ψ features are independent functions of inputs with two tokens, and so with more (zeros before).

    Args:
        width: d, at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(width=(width, 2, None))
    inputs, single = whole_inputs(width, 2), whole_inputs(width, 1)
    j, k = pairs(width)
    selected = cubic_features(inputs).unflatten(-1, (width, width))[:, j, k].flatten(1)
    answers = [
        ask_features(width),
        exact.rank_is(certificate_features(inputs) - selected, 0, "the features less a selection of those of Eq. 4:"),
    ]
    return certify(
        "The features of Algorithm 2 are C(d,2) d + d² of those of Eq. 4, and independent functions of the inputs.",
        f"d = {width}, inputs of two tokens",
        answers,
        Control.of(
            "inputs of one token",
            exact.independent(certificate_features(single), "the features at inputs of one token:"),
            lambda values: _same_on(single, inputs, exact.combination(values, psi(width))),
        ),
    )


def certify_distance(width: int) -> Certificate:
    """Eq. 28 and Corollary 2: the distance is 0 where head matrices differ by a part antisymmetric in j and k alone.

    With the independence of the features the models are then, and only then, one function.

    Args:
        width: d, at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(width=(width, 2, None))
    matrices, inputs = _unit_matrices(width), whole_inputs(width, 2)
    blocks = matrices.unflatten(-1, (width, width)).unflatten(-3, (width, width))
    antisymmetric = (blocks - blocks.transpose(-3, -2)).flatten(-2).flatten(-3, -2)
    answers = [
        _ask_distance(width),
        ask_coefficients(width),
        exact.rank_is(antisymmetric.flatten(1), width**4 - width * psi(width), "antisymmetric in j and k:"),
        exact.rank_is(coefficients(antisymmetric).flatten(1), 0, "the coefficients of these:"),
        ask_features(width),
    ]
    words = "the features of Eq. 4, which head matrices multiply, at inputs of two tokens:"
    return certify(
        "The distance is the norm of the difference of the coefficients. These are equal if and only if the head "
        "matrices differ by a part antisymmetric in j and k, and if and only if the models are one function.",
        f"d = {width}, models of any number of heads; the formula of the distance for models of one head",
        answers,
        Control.of(
            "the head matrices in place of the coefficients",
            exact.independent(cubic_features(inputs).flatten(1), words),
            lambda values: _twin(exact.combination(values, width**3), inputs),
        ),
    )


def certify_many_heads(width: int) -> Certificate:
    """Lemma 4.3: d² heads reach all coefficients, so that a minimiser has those of least squares, which are unique.

    Args:
        width: d, at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(width=(width, 2, None))
    row = symbolic.variables(p=(width, psi(width)))["p"]
    answers = [
        symbolic.equal(coefficients(lift(row, width)), row, "the lift gives the coefficients back"),
        exact.positive_definite(_moment(width), "the second moment at some inputs of two tokens:"),
    ]
    words = "one head, d = 2: derivatives of its coefficients by V and Q at some V and Q:"
    head = _unlike(2)
    broken = exact.independent(tangents(head), words)
    return certify(
        "Every table of coefficients is that of a d² by d² matrix, so of d² heads, and where the second moment is "
        "positive definite least squares has one solution. All minimisers of d² heads or more are this function.",
        f"d = {width}, all labels",
        answers,
        Control.of(
            "one head in place of d², at d = 2",
            broken,
            lambda values: unreached(head, exact.combination(values, 2 * psi(2))),
        ),
    )


def certify_least_norm(width: int) -> Certificate:
    """Algorithm 1: of all matrices W that give one function, the lift of its coefficients is the one of least norm.

    The lift is orthogonal to every matrix whose coefficients are 0.

    Args:
        width: d, at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(width=(width, 2, None))
    shapes = {"p": (width, psi(width)), "W": (width**2, width**2)}
    row, matrix = symbolic.variables(**shapes).values()
    sides = _one_sided(width)

    def one_sided(row: Tensor) -> Tensor:
        return torch.einsum("p,pab->ab", row.flatten(), sides)

    def ask(lifted: Callable[[Tensor], Tensor], words: str) -> Answer:
        product = (lifted(row) * (matrix - lifted(coefficients(matrix)))).sum()
        return symbolic.equal(product, torch.zeros((), dtype=torch.float64), words)

    def run(values: Counterexample) -> tuple[str, bool]:
        p = symbolic.at(values, **shapes)["p"]
        placed, lifted = one_sided(p), lift(p, width)
        same, norms = torch.equal(coefficients(placed), coefficients(lifted)), (placed.norm(), lifted.norm())
        return f"the same coefficients at norm {norms[0]:.3g}, the lift has {norms[1]:.3g}", same and norms[0] > norms[
            1
        ]

    return certify(
        "The lift of a function's coefficients is orthogonal to all matrices of coefficients 0. So every other matrix "
        "of the same function has a larger norm.",
        f"d = {width}, all coefficients and matrices W",
        [
            symbolic.equal(coefficients(lift(row, width)), row, "the lift gives the coefficients back"),
            ask(lambda p: lift(p, width), "a lift times what is left of a matrix without the lift of its coefficients"),
        ],
        Control.of(
            "a coefficient is put in one place, not in halves", ask(one_sided, "coefficients in one place"), run
        ),
    )


def certify_other_model(width: int) -> Certificate:
    """Lemma B.1 at a model that is no attention: its features are independent, so that equal functions have equal p.

    Args:
        width: d, at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(width=(width, 2, None))
    unit = torch.eye(width, dtype=torch.float64)
    places = torch.tensor(list(product(range(width), repeat=3)))
    heads = [Quadratic(*(unit[place, None] for place in parts)) for parts in places]
    inputs, single = whole_inputs(width, 2), whole_inputs(width, 1)
    gaps = torch.stack([model(inputs) - Quadratic.features(inputs) @ model.coefficients.mT for model in heads])
    wide = {count: certificate_features(whole_inputs(count, 2)) for count in (2, 3)}
    every = {count: cubic_features(whole_inputs(count, 2)).flatten(1) for count in wide}
    answers = [
        exact.rank_is(gaps.flatten(1), 0, "outputs less p times the features, for all units of the three parameters:"),
        exact.rank_is(Quadratic.features(inputs), width**2, "the features of this model at inputs of two tokens:"),
        *(exact.rank_is(every[count], wide[count].shape[1], "all d³ features of attention:") for count in wide),
    ]
    return certify(
        "A quadratic model is p times its features, which are independent; the d³ features of attention are not.",
        f"d = {width}",
        answers,
        Control.of(
            "inputs of one token",
            exact.independent(Quadratic.features(single), "the features of this model at inputs of one token:"),
            lambda values: _hidden_quadratic(exact.combination(values, width**2), width),
        ),
    )


def ask_coefficients(width: int) -> Answer:
    """Ask whether the map from matrices to coefficients is onto."""
    matrices = _unit_matrices(width)
    return exact.rank_is(
        coefficients(matrices).flatten(1), width * psi(width), "the coefficients of all unit matrices:"
    )


def ask_features(width: int) -> Answer:
    """Ask whether the features of Algorithm 2 are independent on inputs of two tokens."""
    features = certificate_features(whole_inputs(width, 2))
    count = comb(width, 2) * width + width * width
    return exact.rank_is(features, count, "the features at some inputs of two tokens:")


def tangents(heads: Heads) -> Float[Tensor, "parameters coefficients"]:
    """Derivatives of the coefficients of a model by the entries of all its V_h, then by those of all its Q_h."""
    out, width = heads.out, heads.width
    dtype, device = heads.values.dtype, heads.values.device
    units = torch.eye(out * width, dtype=dtype, device=device).view(-1, 1, out, width)
    queries = torch.eye(width**2, dtype=dtype, device=device).view(-1, 1, width, width)
    by_values = [coefficients(Heads(units, query.expand(len(units), 1, -1, -1))) for query in heads.queries]
    by_queries = [coefficients(Heads(value.expand(len(queries), 1, -1, -1), queries)) for value in heads.values]
    return torch.cat([*by_values, *by_queries]).flatten(1)


def unreached(head: Heads, step: Sequence[float]) -> tuple[str, bool]:
    """The least loss that one head of width 2 reaches, from some starts, on labels a step away from one head's."""
    inputs, starts = whole_inputs(2, 2), random_heads(1, 2, seed=1, models=(6,))
    start = coefficients(head)
    row = start + torch.tensor(step, dtype=torch.float64).view_as(start)
    labels = mhla(heads_from_matrix(lift(row, 2)), inputs)
    loss = fit_many(certificate_features(inputs), labels, starts, steps=60).losses.min().item()
    return f"one head on labels of coefficients {row.tolist()}: least loss {loss:.2g}", loss > 1e-3


def _unit_matrices(width: int) -> Float[Tensor, "matrices out_width width_squared"]:
    return torch.eye(width**4, dtype=torch.float64).unflatten(1, (width**2, width**2))


def _moment(width: int) -> Float[Tensor, "psi psi"]:
    features = certificate_features(whole_inputs(width, 2))
    return features.mT @ features


def _ask_distance(width: int) -> Answer:
    """Ask whether the square of :func:`.distance` is that of the differences of the coefficients, for one head each."""
    names = sympy.symbols(f"v_1:{width**2 + 1} q_1:{width**2 + 1} x_1:{width**2 + 1} y_1:{width**2 + 1}", real=True)
    inputs = [(float(number), name) for number, name in enumerate(names)]

    def models(entries: Sequence[Tensor]) -> tuple[Heads, Heads]:
        values, queries, *others = torch.stack(list(entries)).unflatten(0, (4, 1, width, width)).unbind()
        return Heads(values, queries), Heads(*others)

    def difference(*entries: Tensor) -> Tensor:
        first, second = models(entries)
        return coefficients(first) - coefficients(second)

    def norm(*entries: Tensor) -> Tensor:
        first, second = models(entries)
        return distance(first, second)

    (root,) = trace(norm, inputs).flat
    squares = sum(entry**2 for entry in trace(difference, inputs).flat)
    return algebra.identity(root**2, squares, "the distance squared, of the entries of V and Q of two models")


def _same_on(single: Tensor, others: Tensor, unseen: list[float]) -> tuple[str, bool]:
    """Coefficients that inputs of one token do not show, as heads."""
    heads = heads_from_matrix(lift(torch.tensor([unseen], dtype=torch.float64), single.shape[-1]))
    hidden, seen = (mhla(heads, inputs).abs().max().item() for inputs in (single, others))
    return f"heads with outputs up to {hidden:.1g} on one token and up to {seen:.2g} on two", seen > 0.5 > 1e-9 > hidden


def _twin(block: list[float], inputs: Tensor) -> tuple[str, bool]:
    """A model and its twin: one function, two matrices, which differ in the block of the first output."""
    width = inputs.shape[-1]
    model, change = random_heads(1, width, seed=0), torch.zeros(width**2, width**2, dtype=torch.float64)
    change[:width] = torch.tensor(block).view(width, width**2)
    twin = heads_from_matrix(head_matrix(model) + change)
    apart = (head_matrix(twin) - head_matrix(model)).norm().item()
    gap = (mhla(twin, inputs) - mhla(model, inputs)).abs().max().item()
    words = f"twins with matrices {apart:.2g} apart, p {distance(twin, model).item():.1g}, outputs {gap:.1g}"
    return words, apart > 1 and gap < 1e-9


def _unlike(width: int) -> Heads:
    """One head: V = 1 and a Q of different entries."""
    queries = torch.arange(1.0, width**2 + 1, dtype=torch.float64).view(1, width, width)
    return Heads(torch.eye(width, dtype=torch.float64)[None], queries)


def _one_sided(width: int) -> Float[Tensor, "coefficients out_width width_squared"]:
    """For every coefficient a matrix that has it, in the place j < k alone."""
    j, k = pairs(width)
    blocks = torch.zeros(width, len(j), width, width, width, width, width, dtype=torch.float64)
    out, pair, last = (
        part.flatten() for part in torch.meshgrid(*map(torch.arange, (width, len(j), width)), indexing="ij")
    )
    blocks[out, pair, last, out, j[pair], k[pair], last] = 1
    return blocks.flatten(-2).flatten(-3, -2).flatten(0, 2)


def _hidden_quadratic(row: list[float], width: int) -> tuple[str, bool]:
    """A model of these coefficients, which is 0 on one token and not on two."""
    unit, p = torch.eye(width, dtype=torch.float64), torch.tensor(row, dtype=torch.float64)
    model = Quadratic(p[:, None] * unit[0], unit.repeat_interleave(width, dim=0), unit.repeat(width, 1))
    hidden, seen = (model(whole_inputs(width, tokens)).abs().max().item() for tokens in (1, 2))
    return f"a model that is {hidden:g} on one token and up to {seen:g} on two", hidden == 0 and seen > 0
