"""Steps 1, 2, 3 and 5 of a FLEQ cycle (Appendix K): pointers, masks, and the way of data to a block and back."""

from fractions import Fraction

import torch

from attention_theory.certificates import Answer, Certificate, Control, certify, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers.certified.columns import Column, feed_forward
from attention_theory.looped_transformers.certified.fleq_layers import (
    after,
    ask_found,
    column_of,
    layer_of,
    number,
    run_layer,
    signs,
    takes_only,
    variables_of,
)
from attention_theory.looped_transformers.certified.heads import fetched, is_column, processed, whole_column
from attention_theory.looped_transformers.certified.words import ONE, Linear, Words
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.machine.layers import DenseLayer


def certify_pointers(machine: FleqMachine, printed: FleqMachine) -> Certificate:
    """Step 1: the shifted pointers and the masks of every scratchpad column, for all addresses and widths.

    Args:
        machine: with ``heads="several"``.
        printed: the same with the ``first mask`` of the paper, for the control.
    """
    layout = machine.layout
    answers = [*ask_pointers(machine), ask_masks(machine)[0], *ask_instruction(machine)]
    question, state = ask_masks(printed)

    def run(values: Counterexample) -> tuple[str, bool]:
        column = int(sum(2**place * (float(values.get(f"i {place}", -1)) > 0) for place in range(layout.bits)))
        width = int(values.get("width", 0))
        seen = run_layer(layer_of(printed, "1"), state, values)[layout.rows["mask a"][0]].item()
        return f"column {column} has the mask {seen} for an operand of width {width}", seen != float(column < width)

    return certify(
        "Step 1 reads the instruction at the counter. It gives column i of the scratchpad the addresses a + i, "
        "b + i - d and c + i - 2d, counted from 0 and modulo 2^L, and masks that mark the columns of each operand. All "
        "other rows, and all rows of columns outside the scratchpad, stay as they were.",
        f"L = {layout.bits}, d = {layout.size}; all addresses, columns and widths up to d, numbers up to 10^6 in other "
        "columns; addresses with scores 2 apart, and a hard maximum",
        answers,
        Control.of("the first mask as in the paper", question, run),
    )


def ask_pointers(machine: FleqMachine) -> list[Answer]:
    """Ask whether each pointer becomes the sum of its address, the column's number and an offset."""
    layout, layer = machine.layout, layer_of(machine, "1")
    return [
        answer
        for place, name in enumerate(("to a", "to b", "to c"))
        for answer in ask_pointer(layer, layout, name, -place * layout.size)
    ]


def ask_instruction(machine: FleqMachine) -> list[Answer]:
    """Step 1: the counter finds the instruction, whose fields are read; all rows but pointers and masks, and others.

    Another column has no counter, and may fetch anything.
    """
    layout, layer, most = machine.layout, layer_of(machine, "1"), 1e6
    rows, head = layout.rows, layer.heads[0]
    memory = variables_of("fetched", rows["memory"])
    instruction = whole_column("instruction", rows.size, memory)
    column, other = column_of(machine, "scratchpad", {}), column_of(machine, "another", {})
    fields = [memory[rows["memory"][place]] for place in layout.column_rows]
    read = dict(zip(layout.instruction_rows, fields, strict=True))
    arrived = fetched(column, [(head, [instruction])])
    claims = is_column(arrived, column, read)
    made = [row for name in ("to a", "to b", "to c", "mask a", "mask b", "mask c") for row in rows[name]]
    left = processed(layer, column | read)
    claims += is_column(left, column, read | {row: left[row] for row in made})
    claims += is_column(processed(layer, fetched(other, [(head, [instruction])])), other, {})
    given = [smt.within(term, -most, most) for term in memory.values()]
    answer = smt.prove(given, z3.And(claims), "step 1: all rows but pointers and masks, and another column")
    return [*ask_found(layout, head, "counter"), answer]


def ask_pointer(layer: DenseLayer, layout: FleqLayout, name: str, offset: int) -> list[Answer]:
    """Ask whether a pointer's rows hold the bits of ``address + column + offset``."""
    rows, words = layout.rows, Words()
    for word in ("address", "i"):
        words.add(word, layout.bits, [0])
    words.define("sum", layout.bits, Linear({"address": 1, "i": 1}, offset))
    column: Column = {rows["scratch"][0]: {ONE: Fraction(1)}}
    column |= dict(zip(rows[name], words.bits("address"), strict=True))
    column |= dict(zip(rows["scratch address"], words.bits("i"), strict=True))
    takes_only(layer, rows[name], {*column, rows["not scratch"][0]})
    outputs = feed_forward(layer.w1, layer.b1, layer.w2, layer.b2, column)
    return [
        outputs[row].equals(bit, words, f"{name}, bit {place} of the address + i + {offset}")
        for place, (row, bit) in enumerate(zip(rows[name], words.bits("sum"), strict=True))
    ]


def ask_masks(machine: FleqMachine) -> tuple[Answer, dict[int, Term]]:
    """Ask whether the masks of a scratchpad column are right, and the state that is asked about."""
    layout, layer, width = machine.layout, layer_of(machine, "1"), z3.Real("width")
    rows, bits = layout.rows, signs("i", layout.bits)
    state = dict(zip(rows["scratch address"], bits, strict=True))
    state |= {rows["width"][0]: width, rows["scratch"][0]: z3.RealVal(1), rows["not scratch"][0]: z3.RealVal(0)}
    masks = [rows[f"mask {name}"][0] for name in "abc"]
    state |= dict.fromkeys(masks, z3.RealVal(0))
    found, column = after(layer, masks, state), number(bits)
    inside = [
        z3.And(column >= place * layout.size, column < place * layout.size + width) for place in range(len(masks))
    ]
    wanted = z3.And([found[mask] == z3.If(holds, 1, 0) for mask, holds in zip(masks, inside, strict=True)])
    given = [*(smt.among(bit, (-1, 1)) for bit in bits), z3.IsInt(width), width >= 1, width <= layout.size]
    return smt.prove(given, wanted, "the masks of column i"), state


def certify_routes(machine: FleqMachine, gate: float = 1e3) -> Certificate:
    """Steps 2, 3 and 5: operands go to their columns and to the block that is named, and its result comes back.

    Args:
        machine: with ``heads="several"`` and this gate.
        gate: the paper's C.
    """
    to_block, _ = ask_route(machine, gate / 2)
    leaks, far = ask_route(machine, 8 * gate)
    layout = machine.layout

    def run(values: Counterexample) -> tuple[str, bool]:
        seen, rows = run_layer(layer_of(machine, "3"), far, values), layout.rows
        size, chosen = layout.size, [float(values.get(f"function {k}", 0)) for k in range(layout.function_bits)]
        inside = any(float(values.get(f"mask {name}", 0)) == 1 for name in "ab")
        data = torch.tensor([float(values.get(f"data {place}", 0)) for place in range(size)], dtype=torch.float64)
        wrong = []
        for code, block in zip(layout.function_codes.tolist(), layout.blocks, strict=False):
            before = torch.tensor(
                [float(values.get(f"{block.name} {place}", 0)) for place in range(size)], dtype=torch.float64
            )
            wanted = before + data * (inside and code == chosen)
            if not torch.equal(rows.view(seen[None], block.name)[0], wanted):
                wrong.append(block.name)
        return f"with data up to {data.abs().max().item():.3g} the rows of {wrong} are wrong", bool(wrong)

    return certify(
        "Each pointer finds the cell of its address, each operand is kept in its own columns, handed to the block that "
        "the instruction names and to no other, and that block's result is put into the columns of c. All other rows, "
        "and all rows of columns outside the scratchpad, stay as they were.",
        f"{len(layout.blocks)} blocks, L = {layout.bits}, d = {layout.size}; all addresses, with scores 2 apart, and "
        f"a hard maximum; without the blocks' own layers; data and results up to half the gate of {gate:g}, masks of "
        "which at most one is 1",
        [*ask_own_columns(machine, gate), to_block, ask_return(machine, gate / 2)],
        Control.of(f"data may be up to {8 * gate:g}", leaks, run),
    )


def _masks(layout: FleqLayout) -> tuple[dict[int, Term], list[Term]]:
    """The data of a column of the scratchpad: masks, each 0 or 1 and at most one of them 1, and the instruction."""
    rows, masks = layout.rows, {name: z3.Real(f"mask {name}") for name in "abc"}
    function = signs("function", layout.function_bits)
    state = {rows[f"mask {name}"][0]: mask for name, mask in masks.items()}
    state |= dict(zip(rows["function"], function, strict=True))
    for name in ("to a", "to b", "to c", "to flag", "to target", "height", "width"):
        state |= variables_of(name, rows[name])
    given = [smt.among(mask, (0, 1)) for mask in masks.values()] + [z3.Sum(list(masks.values())) <= 1]
    return state, [*given, *(smt.among(bit, (-1, 1)) for bit in function)]


def _named(layout: FleqLayout, number: int) -> Term:
    """The instruction names this block."""
    code = layout.function_codes[number].tolist()
    return z3.And([bit == sign for bit, sign in zip(signs("function", layout.function_bits), code, strict=True)])


def ask_own_columns(machine: FleqMachine, most: float) -> list[Answer]:
    """Step 2: each pointer finds its cell, and of what the three heads fetch a column keeps its own."""
    layout, layer = machine.layout, layer_of(machine, "2")
    rows, size = layout.rows, layout.size
    state, given = _masks(layout)
    column = column_of(machine, "scratchpad", state)
    cells = [whole_column(name, rows.size, variables_of(f"cell of {name}", rows["memory"][:size])) for name in "abc"]
    changed = {row: z3.If(z3.Real("mask c") == 1, state[row], 0) for row in rows["to c"]}
    for place, row in enumerate(rows["data"][:size]):
        own = [z3.If(z3.Real(f"mask {n}") == 1, z3.Real(f"cell of {n} {place}"), 0) for n in "abc"]
        changed[row] = z3.Sum(own)
    heads = [(head, [cell]) for head, cell in zip(layer.heads, cells, strict=True)]
    claims = is_column(processed(layer, fetched(column, heads)), column, changed)
    given += [smt.within(cell[row], -most, most) for cell in cells for row in rows["memory"][:size]]
    other = column_of(machine, "another", {})  # has no pointer, and may fetch anything
    claims += is_column(processed(layer, fetched(other, heads)), other, {})
    pointers = [state[row] for name in ("to a", "to b", "to c") for row in rows[name]]
    given += [smt.within(bit, -1, 1) for bit in pointers]
    words = "step 2: all rows of a column of the scratchpad, which finds its cells, and of another"
    answers = [smt.prove(given, z3.And(claims), words)]
    for head, name in zip(layer.heads, "abc", strict=True):
        answers += ask_found(layout, head, f"to {name}")
    return answers


def ask_route(machine: FleqMachine, most: float) -> tuple[Answer, dict[int, Term]]:
    """Step 3: the operands are added to the rows of the block that is named; all others are as before."""
    layout, layer = machine.layout, layer_of(machine, "3")
    rows, size = layout.rows, layout.size
    state, given = _masks(layout)
    data = variables_of("data", rows["data"][:size])
    for block in layout.blocks:
        state |= variables_of(block.name, rows[block.name])
    counter = dict(zip(rows["counter"], signs("counter", layout.bits), strict=True))
    column = column_of(machine, "scratchpad", state | data | counter)
    changed = {}
    for order, block in enumerate(layout.blocks):
        in_place = z3.Or([z3.Real(f"mask {name}") == 1 for name in ("ab" if block.reads_second else "a")])
        for source, row in zip(data.values(), rows[block.name], strict=True):
            changed[row] = column[row] + z3.If(z3.And(in_place, _named(layout, order)), source, 0)
    claims = is_column(processed(layer, column), column, changed)
    other = column_of(machine, "another", {})
    claims += is_column(processed(layer, other), other, {})
    given += [smt.within(value, -most, most) for value in data.values()]
    given += [smt.among(bit, (-1, 1)) for bit in counter.values()]
    return smt.prove(given, z3.And(claims), "step 3, to the block that is named: all rows"), column


def ask_return(machine: FleqMachine, most: float) -> Answer:
    """Step 5: in c's columns the data are those of the block that is named; all else is as before."""
    layout, layer = machine.layout, layer_of(machine, "5")
    rows, size = layout.rows, layout.size
    state, given = _masks(layout)
    held = variables_of("data", rows["data"][:size])
    for block in layout.blocks:
        held |= variables_of(block.name, rows[block.name])
    column, changed = column_of(machine, "scratchpad", state | held), {}
    for place, row in enumerate(rows["data"][:size]):
        changed[row] = column[row]
        for order, block in enumerate(layout.blocks):
            here = z3.And(z3.Real("mask c") == 1, _named(layout, order))
            changed[row] = z3.If(here, column[rows[block.name][place]], changed[row])
    claims = is_column(processed(layer, column), column, changed)
    other = column_of(machine, "another", held)
    claims += is_column(processed(layer, other), other, {})
    given.append(z3.Or([_named(layout, order) for order in range(len(layout.blocks))]))
    given += [smt.within(value, -most, most) for value in held.values()]
    return smt.prove(given, z3.And(claims), "step 5, from the block that is named: all rows")
