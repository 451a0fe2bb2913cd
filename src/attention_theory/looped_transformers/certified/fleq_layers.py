"""The feed-forward networks of a built FLEQ machine as questions.

Where a unit takes a row of which a question says nothing, the row is a variable that may have any value.
"""

from collections.abc import Sequence
from fractions import Fraction

import torch
from torch import Tensor

from attention_theory.certificates import smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.forms import Forms
from attention_theory.looped_transformers.machine.layers import DenseLayer
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
    variables: dict[str, float | Tensor] = dict.fromkeys("abc", torch.eye(2, dtype=torch.float64)) | {"flag": 1.0}
    return FleqMachine(assemble(_LISTING, variables, 2), heads="several", form=form, pointers=pointers)


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
