"""Layers of the chapter for all inputs or weights: read-out, skip connection, matrix form, averaging, ReLU network.

A layer that is linear in something is read at units: its outputs there are its coefficients, as the code computes them.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.certificates.smt import Term, z3
from attention_theory.memorization.attention import (
    Examples,
    KeyQueryHeads,
    Readout,
    features,
    matrix_form,
    predict,
    random_heads,
)
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.readout import solve_readout
from attention_theory.validation import require

#: Heads, tokens, width, value width and outputs of the layer whose weights are tried.
_HEADS, _TOKENS, _WIDTH, _VALUES, _OUTPUTS = 2, 2, 3, 2, 2
_SHAPES = {
    "values": (_HEADS, _WIDTH, _VALUES),
    "output": (_HEADS * _VALUES, _WIDTH),
    "decode": (_WIDTH, _OUTPUTS),
}

#: The two sides of an equation between outputs, of a read-out.
Sides = Callable[[Readout], tuple[Tensor, Tensor]]


def certify_readout(heads: int, width: int, outputs: int) -> Certificate:
    """Section 4.1, Step 2: where ``Z W_V = [Y, 0]``, the identities of W_O and W_D give the labels.

    For all features, value weights and labels, by z3, with the built W_O and W_D; ``d_v`` is ``d_out``, one more, and
    more than d. The control has more outputs than the width.

    Raises:
        ParameterError: a size below 1, or more outputs than the width.
    """
    require(heads=(heads, 1, None), width=(width, 1, None), outputs=(outputs, 1, width))
    widths = (outputs, outputs + 1, width + 3)
    answers = [_meets_labels(_solved(heads, width, outputs, values), heads, values) for values in widths]
    many = width + 2
    broken = _meets_labels(_solved(heads, width, many, many), heads, many)

    def run(values: Counterexample) -> tuple[str, bool]:
        labels = _vector(values, "y", many)[None]
        missed = _residual(labels, labels, heads, width, skip=False)
        return f"{many} outputs, width {width}: the label is missed by {missed}", missed > 0.1

    return certify(
        "Step 2 meets all labels wherever its linear system is solved.",
        f"H = {heads}, d = {width}, d_out = {outputs}, d_v = {widths}; all features, value weights and labels",
        answers,
        Control.of(f"{many} outputs, more than d", broken, run),
    )


def certify_skip_labels(heads: int, width: int, outputs: int) -> Certificate:
    """Remark 2: with a skip connection the read-out for the shifted labels meets the labels.

    For all features, queries, value weights and labels, by z3, with the built W_O and W_D.

    Raises:
        ParameterError: a size below 1, or more outputs than the width.
    """
    require(heads=(heads, 1, None), width=(width, 1, None), outputs=(outputs, 1, width))
    sizes = (outputs, width)
    answers = [_meets_labels(_solved(heads, width, k, k), heads, k, shift=_less_the_query) for k in sizes]
    broken = _meets_labels(_solved(heads, width, outputs, outputs), heads, outputs, shift=lambda labels, _: labels)

    def run(values: Counterexample) -> tuple[str, bool]:
        labels, query = _vector(values, "y", outputs)[None], _vector(values, "e", width)[None]
        missed = _residual(labels, labels, heads, width, skip=True, query=query)
        right = _residual(_less_the_query(labels, query), labels, heads, width, skip=True, query=query)
        return f"built for the labels as they are: missed by {missed:.3g}", missed > 0.1 > right

    return certify(
        "With a skip connection the read-out built for the labels less the query's first entries meets the labels.",
        f"H = {heads}, d = {width}, d_out = {sizes}; all features, queries, value weights and labels",
        answers,
        Control.of("the labels are not shifted", broken, run),
    )


def _solved(heads: int, width: int, outputs: int, values: int) -> Readout:
    """A read-out of Step 2, for its W_O and W_D, which do not depend on features and labels."""
    return solve_readout(
        torch.eye(1, heads * width, dtype=torch.float64), torch.zeros(1, outputs).double(), heads, values
    )


def _meets_labels(
    readout: Readout, heads: int, values: int, shift: Callable[[Tensor, Tensor], Tensor] | None = None
) -> Answer:
    """Test whether ``W_D^T (W_O^T p + e)`` is the label where the sum of the heads' values is what ``shift`` requires.

    Args:
        shift: from labels and queries to the sum that is required; without it there is no skip connection and no query.
    """
    width, outputs = readout.decode.shape
    parts = [[z3.Real(f"p_{head + 1}{place + 1}") for place in range(values)] for head in range(heads)]
    label, query = z3.RealVector("y", outputs), z3.RealVector("e", width)
    wanted: Sequence[Term] = label
    skipped: Sequence[Term] = [z3.RealVal(0)] * width
    if shift is not None:
        skipped = query
        units = torch.eye(width, dtype=torch.float64)
        of_label = shift(units[:outputs, :outputs], torch.zeros_like(units[:outputs]))
        of_query = shift(torch.zeros_like(units[:, :outputs]), units)
        coefficients = torch.cat([of_label, of_query]).mT.tolist()
        wanted = [smt.affine(row, [*label, *query]) for row in coefficients]
    targets = [*wanted, *[0] * (values - outputs)]
    solved = [z3.Sum([part[place] for part in parts]) == target for place, target in enumerate(targets)]
    flat = [entry for part in parts for entry in part]
    carried = [smt.affine(row, flat) + skipped[place] for place, row in enumerate(readout.output.mT.tolist())]
    given = [smt.affine(row, carried) for row in readout.decode.mT.tolist()]
    words = f"{heads} heads, width {width}, value width {values}, {outputs} outputs"
    return smt.prove(solved, z3.And([one == y for one, y in zip(given, label, strict=True)]), words)


def _vector(values: Counterexample, name: str, length: int) -> Float[Tensor, " length"]:
    return torch.tensor([float(values.get(f"{name}__{place}", 0)) for place in range(length)], dtype=torch.float64)


def _residual(wanted: Tensor, labels: Tensor, heads: int, width: int, skip: bool, query: Tensor | None = None) -> float:
    """By how much the labels of one example are missed, with the read-out that is built for others."""
    drawn = sample_examples(1, 1, width)
    examples = Examples(drawn.contexts, drawn.queries if query is None else query)
    layer = random_heads(heads, width, width, 0)
    readout = solve_readout(features(layer, examples), wanted, heads, wanted.shape[1])
    return (predict(layer, readout, examples, skip=skip) - labels).abs().max().item()


def certify_matrix_form() -> Certificate:
    """Eqs. 7 and 8: ``Z diag(W_V) W_O W_D`` is what the layer gives, for all W_V, W_O and W_D.

    Both sides are of degree at most 1 in each of the three, so that units and zeros decide; they are tried by
    exhaustion, with random heads.
    """
    layer, examples = _drawn_layer()
    Z = features(layer, examples)
    swapped = Z.unflatten(1, (_HEADS, _WIDTH)).flip(1).flatten(1)

    def sides(Z: Tensor) -> Sides:
        return lambda readout: (matrix_form(Z, readout), predict(layer, readout, examples))

    return _certify_read_outs(
        "The matrix form of Eq. 8 gives the outputs of the layer.",
        sides(Z),
        "the heads of Z in another order",
        sides(swapped),
    )


def certify_skip_layer() -> Certificate:
    """Section 4.4, Appendix C: the layer with a skip connection adds the decoded query, once.

    Both sides are of degree at most 1 in W_V, W_O and W_D, so that units and zeros decide, by exhaustion.
    """
    layer, examples = _drawn_layer()

    def sides(times: int) -> Sides:
        def of(readout: Readout) -> tuple[Tensor, Tensor]:
            added = times * examples.queries @ readout.decode
            return predict(layer, readout, examples, skip=True), predict(layer, readout, examples) + added

        return of

    return _certify_read_outs(
        "The output with a skip connection is the output without one plus the decoded query.",
        sides(1),
        "the query counts twice",
        sides(2),
    )


def _drawn_layer() -> tuple[KeyQueryHeads, Examples]:
    return random_heads(_HEADS, _WIDTH, _WIDTH, 0), sample_examples(3, _TOKENS, _WIDTH, shared=False, seed=1)


def _certify_read_outs(statement: str, sides: Sides, broken: str, broken_sides: Sides) -> Certificate:
    """That two sides are equal for all read-outs, and that two others are not."""

    def run(values: Counterexample) -> tuple[str, bool]:
        units = {name: torch.tensor([number]) for name, number in values.items()}
        left, right = broken_sides(Readout(*(unit[0] for unit in _units(units))))
        apart = (left - right).abs().max().item()
        return f"the two sides differ by {apart:.3g}", apart > 0

    words = f"{statement}\nat matrices W_V, W_O, W_D with one entry 1, or none; each side has degree at most 1 in each"
    return certify(
        statement,
        f"all value, output and decoder weights at H = {_HEADS}, d = {_WIDTH}, d_v = {_VALUES}, d_out = {_OUTPUTS}; "
        "one draw of keys, queries and three examples",
        _equal_at_units(sides, words),
        Control.of(broken, _equal_at_units(broken_sides, words), run),
    )


def _equal_at_units(sides: Sides, words: str) -> Answer:
    def holds(batch: Batch) -> Bool[Tensor, " members"]:
        left, right = torch.func.vmap(lambda *units: sides(Readout(*units)))(*_units(batch))
        return (left == right).flatten(1).all(dim=1)

    return exhaust.every({name: math.prod(shape) + 1 for name, shape in _SHAPES.items()}, holds, words)


def _units(numbers: Mapping[str, Tensor]) -> list[Tensor]:
    """W_V, W_O and W_D with a single entry 1, at each of these numbers; the last number is for none."""
    sizes = {name: math.prod(shape) for name, shape in _SHAPES.items()}
    entries = {name: torch.eye(size + 1, size, dtype=torch.float64) for name, size in sizes.items()}
    return [entries[name][numbers[name]].unflatten(1, shape) for name, shape in _SHAPES.items()]


def _less_the_query(labels: Tensor, queries: Tensor) -> Tensor:
    """The labels for the layer without a skip connection: the decoder adds the first entries of the query (App. C)."""
    return labels - queries[:, : labels.shape[1]]
