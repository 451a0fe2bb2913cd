"""Number of heads that is as good as any: exact linear algebra on the map from heads to coefficients."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.certificates import Certificate, Control, certify, exact, exhaust
from attention_theory.linear_attention.certified.coefficients import tangents, unreached
from attention_theory.linear_attention.model.features import psi
from attention_theory.linear_attention.model.few_heads import fewest_heads
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.linear_attention.model.parameters import (
    coefficients,
    heads_from_matrix,
    lift,
    symmetric_heads,
    symmetric_matrix,
)
from attention_theory.randomness import generator
from attention_theory.validation import Each, require


def certify_symmetric_heads(width: int) -> Certificate:
    """Every table of coefficients is that of one matrix W symmetric in k and l alone, by Christoffel's formula.

    Args:
        width: d, at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(width=(width, 2, None))
    units = torch.eye(width * psi(width), dtype=torch.float64).unflatten(1, (width, psi(width)))
    matrices = symmetric_matrix(units, width)

    def skew(these: Tensor) -> Float[Tensor, "matrices entries"]:
        blocks = these.unflatten(-1, (width, width))
        return (blocks - blocks.mT).flatten(1)

    words = "the part antisymmetric in k and l of"
    answers = [
        exact.rank_is((coefficients(matrices) - units).flatten(1), 0, "the formula gives the coefficients back:"),
        exact.rank_is(skew(matrices), 0, f"{words} the matrices of all coefficients:"),
        exact.rank_is(_symmetric_units(width), len(units), "the coefficients of all symmetric unit matrices:"),
    ]
    lifted = skew(lift(units, width))
    broken = exhaust.every(
        {"coefficient": len(units)},
        lambda batch: lifted[batch["coefficient"]].eq(0).all(dim=1),
        "the matrix of least norm of one coefficient is symmetric in k and l",
    )
    return certify(
        "Every table of coefficients is that of one matrix symmetric in k and l, and of no other, so of d(d+1)/2 heads "
        "with symmetric Q.",
        f"d = {width}, models of any number of heads",
        answers,
        Control.of(
            "the matrix of least norm in its place",
            broken,
            lambda values: _heads_of_least_norm(units[values["coefficient"]], width),
        ),
    )


def certify_fewest_heads(widths: list[int]) -> Certificate:
    """The fewest heads by count reach almost all coefficients over the complex numbers: the derivative is onto.

    Args:
        widths: d, each at least 2.

    Raises:
        ParameterError: a width below 2.
    """
    require(widths=(Each(widths), 2, None))
    answers = []
    for width in widths:
        heads, needed = fewest_heads(width), width * psi(width)
        slopes = tangents(whole_heads(heads, width))
        answers.append(exact.rank_at_least(slopes, needed, f"d = {width}, H = {heads}: derivatives at whole V and Q:"))
    one = whole_heads(1, 2)
    broken = exact.independent(tangents(one), "one head, d = 2:")
    return certify(
        "Where H(2d² - H) >= d³(d+1)/2, the derivative of the coefficients by V and Q is onto at some V and Q.",
        f"d = {', '.join(map(str, widths))}, the least such H",
        answers,
        Control.of(
            "one head fewer, at d = 2",
            broken,
            lambda values: unreached(one, exact.combination(values, 2 * psi(2))),
        ),
    )


def whole_heads(heads: int, width: int) -> Heads:
    """Heads with random whole entries from -9 to 9."""
    drawn = torch.randint(-9, 10, (2, heads, width, width), generator=generator(0)).double()
    return Heads(drawn[0], drawn[1])


def _symmetric_units(width: int) -> Float[Tensor, "matrices coefficients"]:
    """The coefficients of all matrices that are symmetric in k and l with one entry, or two that mirror each other."""
    k, last = torch.triu_indices(width, width)
    folded = torch.zeros(len(k), width, width, dtype=torch.float64)
    folded[range(len(k)), k, last] = folded[range(len(k)), last, k] = 1
    rows = torch.eye(width**2, dtype=torch.float64)
    return coefficients(torch.einsum("rx,fkl->rfxkl", rows, folded).flatten(0, 1).flatten(-2)).flatten(1)


def _heads_of_least_norm(row: Float[Tensor, "rows features"], width: int) -> tuple[str, bool]:
    """The heads of the matrix of least norm for these coefficients, and whether a Q is unlike its transpose."""
    least, symmetric = heads_from_matrix(lift(row, width)), symmetric_heads(row, width)
    skew, other = ((heads.queries - heads.queries.mT).abs().max().item() for heads in (least, symmetric))
    words = f"{least.count} heads, Q unlike its transpose by {skew:.2g}; by {other:.2g} with Christoffel's formula"
    return words, skew > 1e-6 > other
