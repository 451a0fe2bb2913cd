"""The feed-forward networks of a built FLEQ machine as questions.

Where a unit takes a row of which a question says nothing, the row is a variable that may have any value.
"""

from collections.abc import Sequence
from fractions import Fraction

import torch
from torch import Tensor

from attention_theory.certificates import Answer, exhaust, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers._forms import Forms
from attention_theory.looped_transformers.certified.heads import WholeColumn, ask_blind, whole_column
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.machine.layers import DenseHead, DenseLayer
from attention_theory.validation import refuse_unless

#: A sum, a product and a difference of 2 by 2 matrices, and a jump: three blocks, and addresses of 5 bits.
_LISTING = """
c = add(a, b) width 2 if flag <= 0 goto far
c = mul(a, b)
c = sub(a, b)
far: halt
"""


def small_machine(form: Forms = "correct", pointers: bool = False) -> FleqMachine:
    """A machine that is small enough to be asked about, with a head for each operand.

    Args:
        form: of the places where Appendix K is wrong.
        pointers: with blocks that move pointers.
    """
    return FleqMachine(small_program(), heads="several", form=form, pointers=pointers)


def small_program(flag: float = 1.0) -> FleqProgram:
    """The program from which the small machine has its size, with this number in the cell of its flag."""
    variables: dict[str, float | Tensor] = dict.fromkeys("abc", torch.eye(2, dtype=torch.float64)) | {"flag": flag}
    return assemble(_LISTING, variables, 2)


def column_of(machine: FleqMachine, name: str, known: dict[int, Term]) -> WholeColumn:
    """A column of the small machine between two steps, in which these rows are known.

    Of the others those are known that hold one number in all columns of its kind, as a program is packed, except for
    the counter. All else are variables.

    Args:
        machine: of :func:`small_machine`.
        name: of the column; one of the scratchpad's has a name that begins with ``scratchpad``.
        known: terms by row.
    """
    layout, scratchpad = machine.layout, name.startswith("scratchpad")
    state = layout.pack(small_program())
    kind = state[: layout.scratch] if scratchpad else state[layout.scratch :]
    free = {*layout.rows["counter"]} if scratchpad else {*layout.rows["memory"]}
    same = {row for row in kind.eq(kind[0]).all(dim=0).nonzero().flatten().tolist() if row not in free}
    fixed = {row: z3.RealVal(int(kind[0, row])) for row in same}
    return whole_column(name, layout.rows.size, fixed | known)


def variables_of(name: str, rows: Sequence[int]) -> dict[int, Term]:
    """A variable for each of some rows, numbered from 0."""
    return {row: z3.Real(f"{name} {place}") for place, row in enumerate(rows)}


def ask_found(layout: FleqLayout, head: DenseHead, pointer: str) -> list[Answer]:
    """Ask whether a pointer finds the cell of its address by scores 2 apart, which depend on nothing but addresses."""
    rows, size = layout.rows, len(layout.codes)
    asking, cells = (torch.zeros(size, rows.size, dtype=torch.float64) for _ in range(2))
    rows.view(asking, pointer)[:], rows.view(cells, "address")[:] = layout.codes, layout.codes
    others = torch.cat([cells, torch.zeros(1, rows.size, dtype=torch.float64)])  # the scratchpad has no address
    scores = (asking @ head.query.mT) @ (others @ head.key.mT).mT

    def holds(batch: exhaust.Batch) -> Tensor:
        met = batch["pointer"] == batch["cell"]
        seen = scores[batch["pointer"], batch["cell"]]
        return torch.where(met, seen == layout.bits, seen <= layout.bits - 2)

    words = f"the scores of {pointer} towards all cells and, as the last one, the scratchpad's columns"
    return [
        exhaust.every({"pointer": size, "cell": size + 1}, holds, words),
        ask_blind([head], rows[pointer], rows["address"]),
    ]


def layer_of(machine: FleqMachine, step: str) -> DenseLayer:
    """The layer of a machine whose name begins with a step, such as ``7b``."""
    names = [layer.name for layer in machine.transformer.layers]
    return machine.transformer.dense[next(place for place, name in enumerate(names) if name.split()[0] == step)]


def after(layer: DenseLayer, targets: Sequence[int], state: dict[int, Term]) -> dict[int, Term]:
    """The target rows after a feed-forward network over the reals; a row that is not in the state is a new variable."""
    result = {}
    for target in targets:
        terms = [state.get(target, z3.Real(f"row {target}")), smt.rational(layer.b2[target].item())]
        for unit in layer.w2[target].nonzero().flatten().tolist():
            rows = layer.w1[unit].nonzero().flatten().tolist()
            inputs = [state.get(row, z3.Real(f"row {row}")) for row in rows]
            hidden = smt.affine(layer.w1[unit, rows].tolist(), inputs, layer.b1[unit].item())
            terms.append(smt.rational(layer.w2[target, unit].item()) * smt.relu(hidden))
        result[target] = z3.Sum(terms)
    return result


def run_layer(layer: DenseLayer, state: dict[int, Term], values: Counterexample) -> Tensor:
    """A column with the values of a counterexample after the layer itself."""
    column = torch.zeros(1, layer.w1.shape[1], dtype=torch.float64)
    for row in range(column.shape[1]):
        term = z3.simplify(state[row]) if row in state else z3.Real(f"row {row}")
        known = z3.is_rational_value(term) or z3.is_int_value(term)
        column[0, row] = float(Fraction(str(term)) if known else values.get(str(term), 0))
    return layer.feed_forward(column)[0]


def signs(name: str, count: int) -> list[Term]:
    """Variables for the bits of a number, as real numbers that are assumed to be -1 or 1."""
    return [z3.Real(f"{name} {place}") for place in range(count)]


def number(bits: Sequence[Term]) -> Term:
    """The number that signs stand for, the least significant first."""
    return z3.Sum([2**place * (bit + 1) / 2 for place, bit in enumerate(bits)])


def takes_only(layer: DenseLayer, targets: Sequence[int], allowed: set[int]) -> None:
    """Refuse a layer in which other rows than these lead to the targets."""
    units = layer.w2[list(targets)].ne(0).any(dim=0)
    taken = {*layer.w1[units].ne(0).any(dim=0).nonzero().flatten().tolist()}
    refuse_unless(taken <= allowed, f"layer must take rows {sorted(allowed)} alone, got {sorted(taken)}")
