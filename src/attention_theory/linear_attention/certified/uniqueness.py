"""Data that leave one function: exact ranks, and all solutions of the equations that the data put to one head."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import sympy
import torch
import z3
from jaxtyping import Float
from torch import Tensor

from attention_theory.certificates import Certificate, Control, algebra, certify, exact, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.linear_attention.certified.coefficients import whole_inputs
from attention_theory.linear_attention.learning.interpolation import design, interpolate, least_eigenvalue_bound
from attention_theory.linear_attention.machines.block_heads import dense
from attention_theory.linear_attention.machines.parallel_copies import (
    automaton_head,
    automaton_prompt,
    copies,
    idle_design,
    in_copy,
)
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.linear_attention.model.parameters import coefficients, heads_from_matrix, lift
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require


def certify_identified(width: int) -> Certificate:
    """Lemma 4.1: ψ inputs of two tokens leave one model, whatever the teacher and the number of heads.

    Args:
        width: d, at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(width=(width, 2, None))
    inputs = _independent(whole_inputs(width, 2))
    features, few = certificate_features(inputs), inputs[:-1]
    return certify(
        "The second moment is positive definite, so that the zero-loss equations have one solution p for each output.",
        f"d = {width}, some {len(inputs)} inputs of whole numbers, all teachers and numbers of heads",
        exact.positive_definite(features.mT @ features, "N times the second moment of the features:"),
        Control.of(
            "one input fewer",
            exact.independent(certificate_features(few), "the features of all inputs but one:"),
            lambda values: _two_minimisers(few, inputs[-1:], exact.combination(values, psi(width))),
        ),
    )


def certify_not_necessary(samples: int = 5) -> Certificate:
    """Section 6.2: data with a singular second moment may leave one function to models of one head (d = 2).

    The equations ``p(V, Q) H(Z_i) = y_i`` are polynomials in the entries of V and Q. One of those of Q is not 0, as the
    labels are not; it is set to 1, which scales V. Where the teacher's own is 0, there is no solution.

    Args:
        samples: N, 4 or 5, fewer than ψ = 6.

    Raises:
        ParameterError: another number.
    """
    require(samples=(samples, 4, 5))
    teacher = Heads(
        torch.tensor([[[1.0, 2.0], [-1.0, 1.0]]], dtype=torch.float64),
        torch.tensor([[[1.0, 3.0], [2.0, -1.0]]], dtype=torch.float64),
    )
    inputs = _whole(samples, 2, 2, seed=3)
    features = certificate_features(inputs)
    values, queries = sympy.symbols("v_11 v_12 v_21 v_22"), sympy.symbols("q_11 q_12 q_21 q_22")
    equations = _equations(values, queries, features, mhla(teacher, inputs))
    answers = [exact.rank_is(features, samples, "the features, of which there are six:")]
    due = [*teacher.values.flatten().tolist(), *teacher.queries.flatten().tolist()]
    unit = [equation.subs(queries[0], 1) for equation in equations]
    variables = [*values, *queries[1:]]
    for variable, value in zip(variables, [*due[:4], *due[5:]], strict=True):
        answers.append(algebra.follows(unit, variable - int(value), variables))
    for place in range(1, 4):
        chart = dict.fromkeys(queries[:place], 0) | {queries[place]: 1}
        words = f"no head has q = 0 before place {place} and q = 1 there"
        answers.append(
            algebra.no_common_zero([one.subs(chart) for one in equations], [*values, *queries[place + 1 :]], words)
        )
    return certify(
        "The teacher is the only model of one head that fits the data, although the second moment is singular.",
        f"d = 2, N = {samples} inputs of whole numbers, all complex V and Q",
        answers,
        Control.of(
            "models of d² = 4 heads",
            exact.independent(features, "the features determine all coefficients:"),
            lambda values: _two_minimisers(inputs, _whole(1, 2, 2, seed=4), exact.combination(values, psi(2)), teacher),
        ),
    )


def certify_design(width: int) -> Certificate:
    """Lemma 5.2: data at which the coefficients are known combinations of the labels, and the bound η on λ_min.

    Args:
        width: d, at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(width=(width, 2, None))
    answers = []
    for last in range(width):
        features = _of_last(design(width, last), last)
        back = interpolate(features, width, last)
        answers.append(
            exact.rank_is(back - torch.eye(len(back)), 0, f"last token {last}: what is learned of p less p:")
        )
    every = torch.cat([design(width, last) for last in range(width)])
    features = certificate_features(every)
    moment = features.mT @ features - least_eigenvalue_bound(width) * len(every) * torch.eye(psi(width))
    answers.append(exact.positive_definite(moment, "N times the second moment less η:"))
    broken = exact.independent(certificate_features(every[1:]), "the features of all inputs but one:")
    return certify(
        "The coefficients of any model are sums and differences of its outputs, and λ_min of these data is above η.",
        f"d = {width}, all models and labels",
        answers,
        Control.of(
            "one input fewer",
            broken,
            lambda values: _two_minimisers(every[1:], every[:1], exact.combination(values, psi(width))),
        ),
    )


def near_unattained(epsilon: float) -> Float[Tensor, "4 4"]:
    """A head matrix of rank 2 for d = 2 whose coefficients are off those of :func:`unattained` by √2 ε.

    Its entries grow as 1/ε.

    Raises:
        ParameterError: an ``epsilon`` that is not positive.
    """
    require(epsilon=(epsilon, 1e-300, None))
    root = epsilon**0.5
    x = torch.tensor([[root, 0.5 / root], [0.0, root]], dtype=torch.float64)  # x² is N + ε
    return _of_blocks(torch.eye(2, dtype=torch.float64), x, -x @ x)


def unattained(nilpotent: float = 1.0) -> Float[Tensor, "4 4"]:
    """A head matrix of rank 3 for d = 2: the function ``‖z_1‖² z_n - ‖z_2‖² N z_n``, N times ``nilpotent``."""
    nil = torch.tensor([[0.0, nilpotent], [0.0, 0.0]], dtype=torch.float64)
    return _of_blocks(torch.eye(2, dtype=torch.float64), torch.zeros_like(nil), -nil)


def certify_no_minimum() -> Certificate:
    """Eqs. 3 and 13: a function that two heads approach and do not compute, so that their loss has no minimum (d = 2).

    All matrices with its coefficients are its own plus one that no data see. One of two heads has rank 2, so that its
    minors of three rows are 0.
    """
    units = torch.eye(16, dtype=torch.float64).view(16, 4, 4)
    kernel = torch.tensor(exact.null_vectors(coefficients(units).flatten(1).mT), dtype=torch.float64)
    unseen = kernel.view(-1, 4, 4)
    names = [f"x_{number}" for number in range(1, len(unseen) + 1)]

    def minors(matrix: Tensor, variables: Sequence[Any]) -> list[Any]:
        entries = [
            [
                sum((int(one[row, at]) * x for one, x in zip(unseen, variables, strict=True)), int(matrix[row, at]))
                for at in range(4)
            ]
            for row in range(4)
        ]
        chosen = list(combinations(range(4), 3))
        return [
            _determinant([[entries[row][at] for at in columns] for row in rows])
            for rows, columns in product(chosen, chosen)
        ]

    reals = z3.Reals(" ".join(names))
    broken = [minor == 0 for minor in minors(unattained(0.0), reals)]
    words = "no matrix with the coefficients has rank 2 or less:"
    return certify(
        "No two heads compute the function, although two heads come as near to it as one likes.",
        "d = 2, one function, all complex V and Q of two heads; that they come near is not asked",
        [algebra.no_common_zero(minors(unattained(), sympy.symbols(names)), sympy.symbols(names), words)],
        Control.of(
            "the function without N",
            smt.prove(broken, z3.BoolVal(False), words),
            lambda found: _of_two_heads(found, unseen, names),
        ),
    )


def _of_two_heads(found: Counterexample, unseen: Tensor, names: Sequence[str]) -> tuple[str, bool]:
    """The heads of a matrix of rank 2, and their distance to the function."""
    target = unattained(0.0)
    heads = heads_from_matrix(
        target + sum(float(found.get(name, 0)) * one for name, one in zip(names, unseen, strict=True))
    )
    gap = (coefficients(heads) - coefficients(target)).abs().max().item()
    return f"{heads.count} heads, coefficients off by {gap:.1g}", heads.count <= 2 and gap < 1e-9


def _of_blocks(first: Tensor, mixed: Tensor, second: Tensor) -> Float[Tensor, "4 4"]:
    """The head matrix with given blocks (a, l) at j, k = 1, 1; 1, 2, and its negative at 2, 1; and 2, 2."""
    blocks = torch.stack([torch.stack([first, mixed]), torch.stack([-mixed, second])])  # (j, k, a, l)
    return blocks.permute(2, 0, 1, 3).reshape(4, 4)


def _determinant(rows: Sequence[Sequence[Any]]) -> Any:
    """The determinant of three rows."""
    (a, b, c), (d, e, f), (g, h, i) = rows
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def certify_copies(count: int = 4) -> Certificate:
    """Histories pass: prompts of an automaton in one of four copies, with numbers 0 and 1 in the idle ones.

    Args:
        count: the copies, at least 3; fewer than four are not enough.

    Raises:
        ParameterError: a count below 3.
    """
    require(count=(count, 3, None))
    prompts, fewer = _copied_prompts(count), _copied_prompts(3)
    width, small = prompts.shape[-1], fewer.shape[-1]
    whole = torch.arange(1.0, 4 * small + 1, dtype=torch.float64).remainder(5).view(1, 4, small)
    teacher = dense(copies(automaton_head(1), 2, 3), small)
    return certify(
        f"The features of the prompts in {count} copies have full rank, so that no other layer has these outputs.",
        f"the automaton with one state, width {width}, {len(prompts)} prompts",
        exact.rank_at_least(certificate_features(prompts), psi(width), f"the features of prompts in {count} copies:"),
        Control.of(
            "three copies",
            exact.independent(certificate_features(fewer), "the features of the prompts in three copies:"),
            lambda values: _two_minimisers(fewer, whole, exact.combination(values, psi(small)), teacher),
        ),
    )


def _copied_prompts(count: int) -> Float[Tensor, "prompts tokens width"]:
    """The prompt of the automaton with one state in each copy, with all idle numbers of the design."""
    prompt = automaton_prompt(torch.tensor([0]), 0)
    numbers = idle_design((count - 1) * 2)
    return torch.cat([in_copy(prompt, active, *numbers) for active in range(count)])


def _of_last(inputs: Tensor, last: int) -> Float[Tensor, "inputs pairs"]:
    """The features with one entry of the last token."""
    width = inputs.shape[-1]
    return certificate_features(inputs).unflatten(1, (-1, width))[:, :, last]


def _independent(inputs: Tensor) -> Float[Tensor, "count tokens width"]:
    """Those whose features are independent of the features of the inputs before."""
    reduced, rank = exact.matrix(certificate_features(inputs).mT).rref()
    kept = [next(column for column in range(len(inputs)) if reduced[row, column] != 0) for row in range(rank)]
    return inputs[kept]


def _whole(count: int, tokens: int, width: int, seed: Seed) -> Float[Tensor, "count tokens width"]:
    return torch.randint(-3, 4, (count, tokens, width), generator=generator(seed)).double()


def _equations(values: Sequence[Any], queries: Sequence[Any], features: Tensor, labels: Tensor) -> list[Any]:
    """The outputs of one head less the labels; the coefficients are linear in the entries of V and in those of Q."""
    units = torch.eye(4, dtype=torch.float64).view(4, 1, 2, 2)
    parts = {
        (v, q): coefficients(Heads(units[v], units[q])) @ features.mT for v in range(4) for q in range(4)
    }  # (out, samples) each
    return [
        sum(int(part[out, sample]) * values[v] * queries[q] for (v, q), part in parts.items())
        - int(labels[sample, out])
        for sample in range(len(features))
        for out in range(2)
    ]


def _two_minimisers(
    inputs: Tensor, other: Tensor, unseen: list[float], teacher: Heads | None = None
) -> tuple[str, bool]:
    """A model and another one with the same outputs on the inputs: coefficients that they do not show are added."""
    width = inputs.shape[-1]
    model = random_heads(1, width, seed=0) if teacher is None else teacher
    null = torch.tensor(unseen, dtype=torch.float64)
    changed = coefficients(model) + null / null.abs().max()
    twin = heads_from_matrix(lift(changed, width))
    gap, elsewhere = ((mhla(twin, z) - mhla(model, z)).abs().max().item() for z in (inputs, other))
    words = f"two models, {gap:.1g} apart on the data and {elsewhere:.2g} on another input"
    return words, gap < 1e-9 and elsewhere > 1e-3
