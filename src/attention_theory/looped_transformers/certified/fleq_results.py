"""Steps 6 and 7 of a FLEQ cycle (Appendix K): the write and the branch."""

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers.certified.fleq_layers import (
    ask_found,
    column_of,
    layer_of,
    number,
    run_layer,
    signs,
    variables_of,
)
from attention_theory.looped_transformers.certified.heads import (
    ask_blind,
    fetched,
    is_column,
    processed,
    whole_column,
)
from attention_theory.looped_transformers.fleq.machine import FleqMachine

#: What a column of the scratchpad knows of the instruction, and of its own place.
_FIELDS = ("to a", "to b", "to c", "function", "to flag", "to target", "height", "width")
_MASKS = ("mask a", "mask b", "mask c")


def certify_write(machine: FleqMachine, printed: FleqMachine) -> Certificate:
    """Step 6: the cell of address c takes the result over, and all other cells are as before.

    Args:
        machine: with ``heads="several"``.
        printed: the same with the ``write sign`` of the paper, for the control.
    """
    layout = machine.layout
    rows = layout.rows
    question = ask_write(printed)[0]

    def run(values: Counterexample) -> tuple[str, bool]:
        kept, new = (
            torch.tensor([float(values.get(f"{name} {k}", 0)) for k in range(layout.size)], dtype=torch.float64)
            for name in ("old", "result")
        )
        column = torch.zeros(1, rows.size, dtype=torch.float64)
        rows.view(column, "memory")[0, : layout.size] = kept
        rows.view(column, "buffer")[0, : layout.size] = (kept + new) / 2
        seen = rows.view(layer_of(printed, "6").feed_forward(column), "memory")[0, : layout.size]
        return f"{new.tolist()} over {kept.tolist()} gives {seen.tolist()}", not torch.equal(seen, new)

    return certify(
        "The column of memory at address c and the column of its result see each other, and the cell takes the result "
        "over; every other column of memory or program sees itself and stays as it was. The scratchpad's columns are "
        "emptied of data and of what the blocks hold. All other rows of all columns stay as they were.",
        f"L = {layout.bits}, d = {layout.size}; all addresses, with scores 2 apart; all real data up to 10^8; a hard "
        "maximum",
        [*ask_meeting(machine), *ask_write(machine)],
        Control.of("the second unit is added, as in the proof of Lemma 4", question, run),
    )


def ask_meeting(machine: FleqMachine) -> list[Answer]:
    """Ask whether a cell and a result with its address have the largest score for each other, and all else 2 less.

    Scores depend on nothing but these addresses.
    """
    layout, head = machine.layout, layer_of(machine, "6").heads[0]
    bits, rows = layout.bits, layout.rows

    def columns(name: str, codes: Tensor) -> Tensor:
        state = torch.zeros(len(codes), rows.size, dtype=torch.float64)
        rows.view(state, name)[:] = codes
        return state

    def holds(batch: exhaust.Batch) -> Tensor:
        cells, results = columns("address", layout.codes), columns("to c", layout.codes)
        others = torch.cat([cells, results, torch.zeros(1, rows.size, dtype=torch.float64)])
        asking = torch.where(batch["kind"][:, None].bool(), results[batch["code"]], cells[batch["code"]])
        scores = (asking @ head.query.mT) @ (others @ head.key.mT).mT
        met = torch.arange(len(others)) % 2**bits == batch["code"][:, None]
        met[:, -1] = False
        return ((scores == bits) == met).all(1) & (scores.where(~met, -9.0) <= bits - 2).all(1)

    addresses = [*rows["to c"], *rows["address"]]
    return [
        exhaust.every({"code": 2**bits, "kind": 2}, holds, "a cell or a result of this address, and all columns"),
        ask_blind([head], addresses, addresses),
    ]


def ask_write(machine: FleqMachine) -> list[Answer]:
    """All rows of four columns: the cell of address c and c's column, which see each other; and two others.

    Another column that is not the scratchpad's sees itself. Another one of the scratchpad has no address in its
    pointer, and may fetch anything.
    """
    layer, layout, most = layer_of(machine, "6"), machine.layout, 1e8
    rows, size, head = layout.rows, layout.size, layer.heads[0]
    old, new = (variables_of(name, rows[block][:size]) for name, block in (("old", "memory"), ("result", "data")))
    held = variables_of("held", [row for name in ("data", *(b.name for b in layout.blocks)) for row in rows[name]])
    fields = variables_of("field", [row for name in (*_FIELDS, *_MASKS) for row in rows[name]])
    emptied = {row: z3.RealVal(0) for row in held}
    rest = {row: z3.RealVal(0) for row in rows["memory"][size:]}
    blocks = variables_of("left", [row for block in layout.blocks for row in rows[block.name]])
    left = {row: z3.RealVal(0) for row in blocks}
    cell = column_of(machine, "cell", rest | blocks | old)
    target = column_of(machine, "scratchpad column of c", fields | held | new)
    other = column_of(machine, "another", blocks | variables_of("kept", rows["memory"]))
    no_address = {row: z3.RealVal(0) for row in rows["to c"]}
    elsewhere = column_of(machine, "scratchpad elsewhere", fields | held | new | no_address)
    anything = whole_column("anything", rows.size, variables_of("fetched", rows["memory"]))
    answers = []
    for title, column, seen, changed in (
        ("the cell of address c", cell, [cell, target], left | dict(zip(old, new.values(), strict=True))),
        ("c's column of the scratchpad", target, [cell, target], emptied),
        ("another column", other, [other], left),
        ("another column of the scratchpad", elsewhere, [anything], emptied),
    ):
        claims = is_column(processed(layer, fetched(column, [(head, seen)])), column, changed)
        read = [part[row] for part in (column, *seen) for row in (*rows["memory"], *held)]
        given = [smt.within(term, -most, most) for term in dict.fromkeys(read) if not z3.is_rational_value(term)]
        answers.append(smt.prove(given, z3.And(claims), f"step 6: all rows of {title}"))
    return answers


def certify_branch(machine: FleqMachine) -> Certificate:
    """Step 7: the next address is the target's if the flag is at most 0, else the following one, for all of them.

    Args:
        machine: with ``heads="several"``.
    """
    layout = machine.layout
    answer, column = ask_branch(machine, between=False)
    noisy, _ = ask_branch(machine, between=True)

    def run(values: Counterexample) -> tuple[str, bool]:
        seen = run_layer(layer_of(machine, "7b"), column, values)[None]
        for step in ("7c", "7d"):
            seen = layer_of(machine, step).feed_forward(seen)
        bits = layout.rows.view(seen, "counter")[0].tolist()
        return f"with the flag {float(values.get('x', 0))} the counter is {bits}", any(abs(bit) != 1 for bit in bits)

    return certify(
        "Step 7 reads the flag's cell. Then the counter is the target's address if the flag is at most 0, and the "
        "following one if it is at least 1; the copy of the instruction, the masks and the flag are cleared. All other "
        "rows, and all rows of columns outside the scratchpad, stay as they were.",
        f"L = {layout.bits}; all counters, targets and flags but those between 0 and 1; all addresses, with scores 2 "
        "apart, and a hard maximum",
        [*ask_flag(machine), answer],
        Control.of("the flag need not be whole", noisy, run),
    )


def _instructed(machine: FleqMachine, known: dict[int, Term]) -> dict[int, Term]:
    """A column of the scratchpad after step 6: the instruction and the masks are anything, within bounds."""
    rows = machine.layout.rows
    fields = variables_of("field", [row for name in (*_FIELDS, *_MASKS) for row in rows[name]])
    return column_of(machine, "scratchpad", fields | known)


def ask_flag(machine: FleqMachine) -> list[Answer]:
    """Step 7, the read: all rows of a column of the scratchpad, and of another, which may fetch anything."""
    layer, rows, most = layer_of(machine, "7a"), machine.layout.rows, 1e8
    head, (flag,) = layer.heads[0], rows["flag"]
    cell = whole_column("cell", rows.size, variables_of("fetched", rows["memory"]))
    column, other = _instructed(machine, {}), column_of(machine, "another", {})
    claims = is_column(
        processed(layer, fetched(column, [(head, [cell])])), column, {flag: column[flag] + cell[rows["memory"][0]]}
    )
    claims += is_column(processed(layer, fetched(other, [(head, [cell])])), other, {})
    given = [smt.within(cell[row], -most, most) for row in rows["memory"]]
    found = ask_found(machine.layout, head, "to flag")
    return [*found, smt.prove(given, z3.And(claims), "step 7, the read: all rows")]


def ask_branch(machine: FleqMachine, between: bool) -> tuple[Answer, dict[int, Term]]:
    """The last three layers: all rows of a column of the scratchpad, and of another."""
    layout, x = machine.layout, z3.Real("x")
    rows, bits = layout.rows, layout.bits
    counter, target = signs("counter", bits), signs("target", bits)
    known = dict(zip(rows["counter"], counter, strict=True)) | dict(zip(rows["to target"], target, strict=True))
    empty = {row: z3.RealVal(0) for row in layout.instruction_rows} if between else {}  # so that little is printed
    column = before = _instructed(machine, empty | known | {rows["flag"][0]: x})
    other = another = column_of(machine, "another", {})
    for step in ("7b", "7c", "7d"):
        column, other = (processed(layer_of(machine, step), state) for state in (column, other))
    following = z3.If(number(counter) == 2**bits - 1, 0, number(counter) + 1)
    reached = [column[row] for row in rows["counter"]]
    cleared = [*layout.instruction_rows, rows["flag"][0], *(rows[name][0] for name in _MASKS)]
    changed = dict(zip(rows["counter"], reached, strict=True)) | {row: z3.RealVal(0) for row in cleared}
    wanted = [
        *(smt.among(bit, (-1, 1)) for bit in reached),
        number(reached) == z3.If(x <= 0, number(target), following),
        *is_column(column, before, changed),
        *is_column(other, another, {}),
    ]
    given = [smt.among(bit, (-1, 1)) for bit in (*counter, *target)]
    if not between:
        given.append(z3.Or(x <= 0, x >= 1))
    return smt.prove(given, z3.And(wanted), "step 7 after the read: all rows"), before
