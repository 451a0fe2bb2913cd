"""Step 4 of a FLEQ cycle: what the blocks for a product, a sum and a difference compute, for all operands."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, balls, certify, exhaust, smt, symbolic
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.certificates.symbolic import Terms
from attention_theory.looped_transformers.certified.fleq_layers import after, layer_of, small_program, variables_of
from attention_theory.looped_transformers.certified.heads import (
    WholeColumn,
    ask_blind,
    fetched,
    whole_column,
)
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.machine.layers import DenseHead
from attention_theory.validation import refuse_unless

#: What is asked of ``e^v`` for the scores v of a product: ``1 + v <= e^v <= 1 + v + 0.51 v²``, and at most 1.01.
_SMALL, _CURVED, _MOST = 1e-3, Fraction(51, 100), Fraction(101, 100)
#: How far the value matrix of the product may be from ``2d e^C``, as a fraction.
_OFF = Fraction(1, 2**48)


def certify_blocks(machine: FleqMachine, most: float = 8.0) -> Certificate:
    """Step 4: the result's columns hold ``A + B``, ``A - B``, and ``AᵀB`` up to a stated error, for all A and B.

    The heads that copy have a hard maximum, and the head of the product a softmax at the machine's own temperature.

    Args:
        machine: of :func:`.small_machine`, without pointer blocks.
        most: the largest entry of the operands of a product.
    """
    layout, product = machine.layout, _product(machine)

    def run(values: Counterexample) -> tuple[str, bool]:
        state = layout.pack(small_program())
        layout.rows.view(state, "mul")[: 2 * layout.size] = 1.0
        for step in ("4.1", "4.2"):
            state = layer_of(machine, step)(state, 2 * machine.inverse_temperature)
        seen = layout.rows.view(state, "mul")[2 * layout.size, 0].item()
        return f"the product of matrices of ones has an entry {seen:.4g} and not {layout.size}", seen != layout.size

    error = f"0.51 c z² + {float(_slack(machine, product)):.1g} for an entry z"
    return certify(
        f"The columns of the result hold A + B, A - B, and AᵀB up to {error}; the blocks' rows are as before in all "
        "other columns.",
        f"d = {layout.size}, n = {layout.columns}; all real operands up to 10^6, those of a product up to {most:g}; "
        "heads that copy have a hard maximum, the product's head a softmax",
        ask_blocks(machine, most),
        Control.of("all scores times 2, the same weights", _ask_scale(product, layout.size, 2), run),
    )


def ask_blocks(machine: FleqMachine, most: float) -> list[Answer]:
    """All questions about the two layers."""
    product = _product(machine)
    return [*_ask_sums(machine), *product.answers, *_ask_product(machine, product, most), *_ask_placed(machine)]


def _column(machine: FleqMachine, place: int, known: dict[int, Term]) -> WholeColumn:
    """A column of the scratchpad: its marks and the rows in which blocks work are as packed, all else is a variable."""
    rows, setting = machine.layout.rows, machine.layout.setting
    names = [*setting.template, *(name for block in machine.layout.blocks for name in block.sizes(setting))]
    packed = machine.layout.pack(small_program())[place].tolist()
    marks = {row: z3.RealVal(int(packed[row])) for name in names for row in rows[name]}
    return whole_column(f"column {place}", rows.size, marks | known)


def _ask_copies(machine: FleqMachine, head: DenseHead, source: str) -> list[Answer]:
    """Whether column i of the result has its largest score for column i of A or B, and 1 less for all others."""
    layout = machine.layout
    state, size = layout.pack(small_program()), layout.size
    scores = (state @ head.query.mT) @ (state @ head.key.mT).mT
    first = {"in a": 0, "in b": size}[source]

    def holds(batch: exhaust.Batch) -> Tensor:
        met = batch["column"] == first + batch["i"]
        seen, best = scores[2 * size + batch["i"], batch["column"]], scores[2 * size, first]
        return torch.where(met, seen == best, seen <= best - 1)

    words = f"the scores of the result's columns towards all, by {source}"
    found = exhaust.every({"i": size, "column": len(state)}, holds, words)
    return [found, ask_blind([head], layout.rows["in out"], layout.rows[source])]


def _ask_sums(machine: FleqMachine) -> list[Answer]:
    """The rows of the sum and of the difference behind both layers, in every column of the scratchpad."""
    layout, layer = machine.layout, layer_of(machine, "4.1")
    rows, size = layout.rows, layout.size
    heads = dict(zip(("mul", "add a", "add b", "sub a", "sub b"), layer.heads, strict=True))
    answers = [answer for name in list(heads)[1:] for answer in _ask_copies(machine, heads[name], f"in {name[-1]}")]
    data = [row for name in ("add", "sub") for row in rows[name]]
    sources = [whole_column(f"column of {name}", rows.size, {}) for name in "AB"]
    for place in range(layout.scratch):
        inside = 2 * size <= place < 3 * size
        before = _column(machine, place, dict.fromkeys(data, z3.RealVal(0)) if inside else {})
        means = [(heads[f"{name} {k}"], [sources["ab".index(k)]]) for name in ("add", "sub") for k in "ab"]
        halfway = after(layer, data, fetched(before, means))
        left = after(layer_of(machine, "4.2"), data, before | halfway)
        claims = []
        for name, sign in (("add", 1), ("sub", -1)):
            for row in rows[name]:
                total = sources[0][row] + sign * sources[1][row]
                claims.append(left[row] == (total if inside else before[row]))
        given = [smt.within(source[row], -1e6, 1e6) for source in sources for row in data]
        answers.append(smt.prove(given, z3.And(claims), f"step 4: sum and difference in column {place}"))
    return answers


@dataclass(frozen=True)
class _Product:
    """The head of the product, as its matrices have it in the columns of B.

    Attributes:
        factor: of an entry of the product in a score.
        height: the score towards the columns of ones.
        scale: the value of a column of A in its own row of the Gram matrix.
        answers: that scores and values are these numbers and 0.
    """

    factor: Fraction
    height: Fraction
    scale: Fraction
    answers: list[Answer]


def _product(machine: FleqMachine) -> _Product:
    """Take the numbers from the matrices, with operands that are variables."""
    layout, head = machine.layout, layer_of(machine, "4.1").heads[0]
    size, both, gram = layout.size, 2 * layout.size, list(layout.rows["mul gram"])
    operands = symbolic.variables(x=(both, size))["x"]
    state = Terms.of(layout.pack(small_program()))
    state[:both, list(layout.rows["mul"])] = operands
    scores = machine.inverse_temperature * ((state @ head.query.mT) @ (state @ head.key.mT).mT)[size:both]
    values = state @ head.value[gram].mT
    numbers = [symbolic.entries(scores)[0, 0].LC, symbolic.entries(scores)[0, both], symbolic.entries(values)[0, 0]]
    factor, height, scale = (Terms.of(np.array(number, dtype=object)) for number in numbers)
    ones, rest = torch.ones(size, both, dtype=torch.float64), torch.zeros(size, layout.columns - 2 * both)
    wanted = torch.cat([factor * (operands[size:] @ operands.mT), height * ones, height * rest], dim=1)
    kept = torch.eye(layout.columns, size, dtype=torch.float64)
    answers = [
        symbolic.equal(scores, wanted, "the scores of B's columns: c z, C, and 0"),
        symbolic.equal(values, scale * kept, "the values for the Gram matrix"),
    ]
    exact = [Fraction(str(number)) for number in numbers]
    return _Product(exact[0], exact[1], exact[2], answers)


def _ask_scale(product: _Product, size: int, scores: int = 1) -> Answer:
    """Whether the value matrix holds ``2d e^C``, with scores times a factor."""
    with balls.flint.ctx.workprec(128):
        exact = 2 * size * balls.ball(scores * product.height).exp()
        return balls.below(abs(balls.ball(product.scale) / exact - 1), _OFF, "2d e^C in the value matrix is off by")


def _slack(machine: FleqMachine, product: _Product) -> Fraction:
    """The part of a product's error that is not of the entry itself: the rest of the softmax, and ``2d e^C``."""
    rest = (2 * machine.layout.size * _MOST + machine.layout.columns) / product.scale
    return 2 * (rest + _OFF) / product.factor


def _ask_product(machine: FleqMachine, product: _Product, most: float) -> list[Answer]:
    """The Gram matrix behind the first layer: in a column of B an entry of the product, in all others 0."""
    layout, layer = machine.layout, layer_of(machine, "4.1")
    size, (gram, *_) = layout.size, layout.rows["mul gram"]
    largest, c, scale = size * Fraction(most) ** 2, smt.rational(product.factor), smt.rational(product.scale)
    refuse_unless(product.factor * largest <= _SMALL, f"most must leave scores up to {_SMALL}, got {most}")
    z, e, total, ones, mean = z3.Reals("z E S T y")
    v = c * z
    given = [z <= smt.rational(largest), z >= smt.rational(-largest)]
    given += [e >= 1 + v, e <= 1 + v + smt.rational(_CURVED) * v * v, total > 0]
    given += [total <= smt.rational(2 * size * _MOST), ones * smt.rational(1 - _OFF) <= scale]
    given += [ones * smt.rational(1 + _OFF) >= scale, mean * (total + ones + layout.columns - 4 * size) == scale * e]
    within = smt.rational(_slack(machine, product)) + smt.rational(_CURVED) * c * z * z
    left = after(layer, [gram], _column(machine, size, {gram: mean}))[gram]
    claim = z3.And(left - z <= within, z - left <= within)
    answers = [smt.prove(given, claim, "z an entry, E = e^(cz), S their sum, T = 2d e^C, y the mean of the values")]
    silent = [_column(machine, place, {gram: mean}) for place in range(layout.scratch) if place // size != 1]
    closed = [after(layer, [gram], column)[gram] == 0 for column in silent]
    answers.append(smt.prove([mean >= 0, mean <= scale], z3.And(closed), "the Gram matrix in columns that are not B's"))
    curved, limit = (lambda x: balls.ball(2 * _CURVED) - x.exp()), (lambda x: balls.ball(_MOST) - x.exp())
    answers.append(balls.positive(curved, -_SMALL, _SMALL, "0 < 1.02 - e^v, so that e^v <= 1 + v + 0.51 v^2"))
    return [*answers, balls.positive(limit, -_SMALL, _SMALL, "0 < 1.01 - e^v"), _ask_scale(product, size)]


def _ask_placed(machine: FleqMachine) -> list[Answer]:
    """The second layer: column j of the result takes over the Gram matrix in column j of B, and no other column."""
    layout, layer = machine.layout, layer_of(machine, "4.2")
    rows, size, (head,) = layout.rows, layout.size, layer.heads
    answers, source = _ask_copies(machine, head, "in b"), whole_column("column of B", rows.size, {})
    for place in range(layout.scratch):
        inside = 2 * size <= place < 3 * size
        data = dict.fromkeys(rows["mul"], z3.RealVal(0)) if inside else variables_of("held", rows["mul"])
        before = _column(machine, place, data)
        left = after(layer, list(rows["mul"]), fetched(before, [(head, [source])]))
        pairs = zip(rows["mul"], rows["mul gram"], strict=True)
        claims = [left[row] == (source[gram] if inside else before[row]) for row, gram in pairs]
        given = [smt.within(source[row], -1e6, 1e6) for row in rows["mul gram"]]
        answers.append(smt.prove(given, z3.And(claims), f"step 4: the product in column {place}"))
    return answers
