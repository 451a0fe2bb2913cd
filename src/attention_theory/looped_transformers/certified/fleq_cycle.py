"""A whole cycle of a FLEQ machine with a hard maximum, for all programs and data: its pointers stay exact for ever."""

from fractions import Fraction

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.looped_transformers.certified.fleq_layers import (
    after,
    small_program,
)
from attention_theory.looped_transformers.certified.fleq_operands import (
    ask_instruction,
    ask_masks,
    ask_own_columns,
    ask_pointers,
    ask_return,
    ask_route,
)
from attention_theory.looped_transformers.certified.fleq_results import ask_branch, ask_flag, ask_meeting, ask_write
from attention_theory.looped_transformers.certified.subleq_cycle import together
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.machine.layers import DenseLayer
from attention_theory.validation import refuse_unless


def certify_fleq_cycle(machine: FleqMachine, gate: float = 1e3) -> Certificate:
    """Theorem 2: a cycle executes an instruction and leaves a state of the form in which it began.

    Each step is proved for all rows of all kinds of columns, and starts from what the step before it leaves. The
    function blocks are left open here: they may put any numbers up to half the gate in their rows. The module
    :mod:`.fleq_blocks` settles what they compute.

    Args:
        machine: of :func:`small_machine`, without pointer blocks.
        gate: its constant C.

    Raises:
        ParameterError: a machine with pointer blocks, or with one head for all operands.
    """
    layout = machine.layout
    refuse_unless(
        not layout.pointers and not layout.copies,
        f"machine must have several heads and no pointer blocks, got pointers={layout.pointers}",
    )
    before_blocks = [*ask_instruction(machine), *ask_pointers(machine), ask_masks(machine)[0]]
    before_blocks += [*ask_own_columns(machine, gate / 2), ask_route(machine, gate / 2)[0]]
    blocks = [ask_rows_of_blocks(machine), ask_work_is_cleared(machine)]
    behind_blocks = [ask_return(machine, gate / 2), *ask_meeting(machine), *ask_write(machine)]
    branch = [*ask_flag(machine), ask_branch(machine, between=False)[0]]

    answers = [*before_blocks, *blocks, *behind_blocks, *branch]

    def run(values: Counterexample) -> tuple[str, bool]:
        program = small_program(flag=float(Fraction(values["x"])))
        state = machine.transformer.cycle(layout.pack(program), 1.0, "hardmax")
        seen = layout.rows.view(state, "counter")[0].tolist()
        words = f"with {float(values['x'])} in the flag's cell the counter is {seen} after a cycle"
        return words, any(abs(bit) != 1 for bit in seen)

    return certify(
        "One cycle executes one instruction, except for the function itself: it reads the instruction at the counter, "
        "takes operands to the block that is named, writes that block's result to the cell c, and puts the next "
        "address into the counter. Counter, pointers and instructions are exactly ±1 bits again and all other cells "
        "are as before, so all later cycles do the same.",
        f"L = {layout.bits}, d = {layout.size}, {len(layout.blocks)} blocks; a hard maximum; all programs that fit, "
        f"whose results go to cells of data; all data and all numbers in the blocks' rows up to {gate / 2:g}; flags "
        "that are at most 0 or at least 1",
        next((answer for answer in answers if answer.outcome != "proved"), together(answers)),
        Control.of("the flag is between 0 and 1", ask_branch(machine, between=True)[0], run),
    )


def ask_rows_of_blocks(machine: FleqMachine) -> Answer:
    """Step 4: no row is written but those of a block's data, and those in which it works, which begin as 0."""
    rows, layout = machine.layout.rows, machine.layout
    allowed, written = (torch.zeros(rows.size, dtype=torch.bool) for _ in range(2))
    empty = layout.pack(small_program()).eq(0).all(dim=0)
    for block in layout.blocks:
        for name in (block.name, *block.sizes(layout.setting)):
            allowed[list(rows[name])] = empty[list(rows[name])]
    for layer in _block_layers(machine):
        written |= _written(layer)
    return exhaust.every(
        {"row": rows.size}, lambda batch: ~written[batch["row"]] | allowed[batch["row"]], "rows that step 4 writes"
    )


def ask_work_is_cleared(machine: FleqMachine) -> Answer:
    """Step 4: a row in which a block works is 0 behind the last layer that writes it, whatever all rows were."""
    rows, layout = machine.layout.rows, machine.layout
    data = {row for block in layout.blocks for row in rows[block.name]}
    last = {row: layer for layer in _block_layers(machine) for row in _written(layer).nonzero().flatten().tolist()}
    claims = [after(layer, [row], {})[row] == 0 for row, layer in last.items() if row not in data]
    return smt.prove(
        [], z3.And(claims), "step 4: the rows in which blocks work, behind the last layer that writes them"
    )


def _block_layers(machine: FleqMachine) -> list[DenseLayer]:
    named = zip(machine.transformer.layers, machine.transformer.dense, strict=True)
    return [layer for declared, layer in named if declared.name.startswith("4")]


def _written(layer: DenseLayer) -> Tensor:
    """Test whether a layer adds anything to a row, for each of them."""
    matrices = [layer.w2, layer.b2[:, None], *(head.value for head in layer.heads)]
    return torch.stack([matrix.ne(0).any(dim=1) for matrix in matrices]).any(dim=0)
