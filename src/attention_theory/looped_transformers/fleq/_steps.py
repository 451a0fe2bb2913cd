"""The seven steps of a FLEQ cycle as layers (Appendix K), all but the function blocks' own (step 4)."""

from collections.abc import Collection, Sequence

from attention_theory.looped_transformers.blocks.base import CLOSED
from attention_theory.looped_transformers.fleq._pointer_blocks import change_pointers, keep_signs
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.looped_transformers.machine.rounding import correct
from attention_theory.rows import Combination, combine, moves


def fleq_layers(
    layout: FleqLayout,
    blocks: Sequence[Layer],
    gate: float,
    printed: Collection[str] = (),
    one_reader: bool = False,
    constant_gate: bool = False,
    cleared: bool = True,
) -> list[Layer]:
    """All layers of a cycle.

    Args:
        layout: of the state.
        blocks: the layers of step 4.
        gate: the constant C of steps 2, 3 and 5.
        printed: the places that follow the paper.
        one_reader: a single head reads the operands.
        constant_gate: the write's gate is a constant that is added to the data and taken off again (for a control).
        cleared: ``False`` leaves the copy of the instruction at the end (for a control).
    """
    layers = [_read_instruction(layout, printed, one_reader), _read_data(layout, gate, one_reader)]
    layers += [_route_to_block(layout, gate), *blocks, _return_result(layout, gate)]
    return [*layers, _write_result(layout, printed, constant_gate), *_branch(layout, cleared)]


def _read_instruction(layout: FleqLayout, printed: Collection[str], one_reader: bool) -> Layer:
    """Step 1: the instruction into every scratchpad column, then its pointers shifted and its masks made there.

    With ``one_reader``, not in the paper, a column keeps a single pointer to what it is to read: to a in A's columns,
    to b in B's, to c in the result's.
    """
    rows, size = layout.rows, layout.size
    layer = Layer(rows, "1 read instruction")
    column = [rows["memory"][place] for place in layout.column_rows]
    values = moves(column, layout.instruction_rows)
    layer.head("instruction", combine(rows["address"]), combine(rows["counter"]), values)
    one_too_far = 1 if "pointers" in printed else 0
    for place, (name, elsewhere) in enumerate((("to a", "not a"), ("to b", "not b"), ("to c", "not out"))):
        offset = one_too_far - place * size
        if one_reader:
            terms, gate = [rows[name], rows["scratch address"]], rows[elsewhere][0]
            _bits_of_sum(layer, layout, terms, offset, rows["to a"], gate)
        if name == "to c" or not one_reader:
            _add_to_address(layer, layout, rows[name], rows["scratch address"], offset)
    if one_reader:
        _lowest(layer, layout, rows["to a"])
        layer.clear([*rows["to a"], *rows["to b"]])
    for name in ("function", "to flag", "to target", "height", "width"):
        for row in rows[name]:
            layer.gated_move(row, row, {rows["scratch"][0]: CLOSED}, gain=-1.0)
    for place, name in enumerate(("mask a", "mask b", "mask c")):
        upper = 2 if name == "mask a" and "first mask" in printed else place
        _mask(layer, layout, rows[name][0], place * size, upper * size)
    return layer


def _add_to_address(layer: Layer, layout: FleqLayout, address: range, other: range | None, constant: int) -> None:
    """``address + other + constant`` mod 2^L in the scratchpad columns, zero elsewhere (Lemma 10, three terms)."""
    terms = [address] if other is None else [address, other]
    _bits_of_sum(layer, layout, terms, constant, address, layout.rows["not scratch"][0])
    _lowest(layer, layout, address)
    layer.clear(address)


def _bits_of_sum(
    layer: Layer, layout: FleqLayout, terms: Sequence[range], constant: int, target: range, closed: int
) -> None:
    """Add 2 into the rows where the sum of the terms and the constant has a bit, in columns where ``closed`` is 0.

    Bit i of a sum s is 1 where the lowest i bits of the terms add up to at least an odd multiple of 2^(i-1), and not to
    the even multiple after it.
    """
    for place in range(layout.bits):
        window, modulus = 2**place, 2 ** (place + 1)
        inputs: Combination = {}
        start = float(constant % modulus)
        for block in terms:
            for power, row in enumerate(block[: place + 1]):
                inputs[row] = inputs.get(row, 0.0) + 0.5 * 2**power
                start += 0.5 * 2**power
        for multiple in range(1, 3 * modulus // window + 1):
            sign = 1.0 if multiple % 2 else -1.0
            _step(layer, {**inputs, closed: CLOSED}, start, multiple * window, {target[place]: 2 * sign})


def _lowest(layer: Layer, layout: FleqLayout, target: range) -> None:
    """Take 1 off in the scratchpad columns: a row to which 0 or 2 is added holds a sign."""
    for row in target:
        layer.unit("lowest value", {layout.rows["scratch"][0]: 1.0}, {row: -1.0})


def _step(layer: Layer, inputs: Combination, start: float, threshold: float, outputs: Combination) -> None:
    """Add ``outputs`` where ``inputs + start``, an integer, is at least ``threshold``."""
    layer.unit("step", inputs, outputs, bias=start - threshold + 1)
    layer.unit("step", inputs, {row: -weight for row, weight in outputs.items()}, bias=start - threshold)


def _mask(layer: Layer, layout: FleqLayout, mask: int, lower: int, upper: int) -> None:
    """1 in the scratchpad columns from ``lower`` to before ``upper + width``."""
    rows = layout.rows
    (scratch,), (not_scratch,), (width,) = rows["scratch"], rows["not scratch"], rows["width"]
    column = {row: 0.5 * 2**power for power, row in enumerate(rows["scratch address"])}
    middle = sum(column.values())
    _step(layer, {**column, not_scratch: CLOSED}, middle, lower, {mask: 1.0})
    before_end = {row: -weight for row, weight in column.items()} | {width: 1.0, not_scratch: CLOSED}
    _step(layer, before_end, upper - middle, 1, {mask: 1.0})
    layer.unit("mask", {scratch: 1.0}, {mask: -1.0})


def _read_data(layout: FleqLayout, gate: float, one_reader: bool) -> Layer:
    """Step 2, Eqs. (12) and (13): three heads fetch a, b and c; the masks keep each in its own columns.

    No column wants more than one of the three, so with the pointer of ``one_reader`` a single head does. With pointer
    blocks c's first column takes the addresses of the instruction to which c points, in place of data.
    """
    rows, size = layout.rows, layout.size
    layer = Layer(rows, "2 read data")
    data, names = rows["data"], "ab" if layout.pointers else "abc"
    own = layout.pointer_rows
    changed = moves(rows["memory"][: len(own)], own)
    if one_reader:
        fetched = data[size : 2 * size]
        values = [*moves(rows["memory"][:size], fetched), *changed]
        layer.head("data", combine(rows["address"]), combine(rows["to a"]), values)
        masks = {rows[f"mask {name}"][0]: gate for name in names}  # at most one of them is 1
        for source, row in zip(fetched, data[:size], strict=True):
            layer.gated_move(source, row, masks, closed=-gate)
    for place, name in enumerate("" if one_reader else "abc"):
        target = data[place * size : (place + 1) * size]
        values = [*moves(rows["memory"][:size], target), *(changed if name == "c" else [])]
        layer.head(f"data {name}", combine(rows["address"]), combine(rows[f"to {name}"]), values)
        for source, row in zip(target, data[:size], strict=True) if name in names else ():
            layer.gated_move(source, row, {rows[f"mask {name}"][0]: gate}, closed=-gate)
    layer.clear(data)
    for row in rows["to c"]:
        layer.gated_move(row, row, {rows["mask c"][0]: gate}, closed=-gate)
    layer.clear(rows["to c"])
    keep_signs(layer, layout)
    return layer


def _route_to_block(layout: FleqLayout, gate: float) -> Layer:
    """Step 3: the operands into the rows of the block that the instruction names; the counter's bits are rounded.

    Where blocks share their heads the chosen one gets copies also of the fixed rows that it uses.
    """
    rows, size = layout.rows, layout.size
    layer = Layer(rows, "3 to the block")
    for number, block in enumerate(layout.blocks):
        masks = {rows["mask a"][0]: gate} | ({rows["mask b"][0]: gate} if block.reads_second else {})
        gates = masks | _chosen(layout, number, gate)
        closed = -gate * (1 + layout.function_bits)
        for source, target in zip(rows["data"][:size], rows[block.name], strict=True):
            layer.gated_move(source, target, gates, closed)
        for source, target in layout.copies.get(block.name, {}).items():
            layer.gated_move(source, target, _chosen(layout, number, gate), -gate * layout.function_bits)
    correct(layer, rows["counter"])
    change_pointers(layer, layout)
    return layer


def _chosen(layout: FleqLayout, number: int, gate: float) -> Combination:
    """``gate`` times the product of the instruction's function code with that of a block: at most gate * bits."""
    code = layout.function_codes[number].tolist()
    return {row: gate * bit for row, bit in zip(layout.rows["function"], code, strict=True)}


def _return_result(layout: FleqLayout, gate: float) -> Layer:
    """Step 5: the result of the chosen block into the data rows of c's columns."""
    rows, size = layout.rows, layout.size
    layer = Layer(rows, "5 from the block")
    closed = -gate * (1 + layout.function_bits)
    for number, block in enumerate(layout.blocks):
        gates = {rows["mask c"][0]: gate} | _chosen(layout, number, gate)
        for source, target in zip(rows[block.name], rows["data"][:size], strict=True):
            layer.unit("return", {source: 1.0, target: -1.0, **gates}, {target: 1.0}, bias=closed)
            layer.unit("return", {source: -1.0, target: 1.0, **gates}, {target: -1.0}, bias=closed)
    return layer


def _write_result(layout: FleqLayout, printed: Collection[str], constant_gate: bool) -> Layer:
    """Step 6: memory takes over the result at address c (Lemma 4); the blocks are emptied.

    With ``constant_gate`` (for a control) the gate is a constant that is added to the data and taken off again.
    """
    rows, size = layout.rows, layout.size
    layer = Layer(rows, "6 write")
    memory, data = rows["memory"], rows["data"]
    into_data = "write rows" in printed
    buffer = data[:size] if into_data else rows["buffer"]
    written = memory[: len(buffer)]
    own = layout.pointer_rows
    match = combine(rows["to c"], rows["address"])
    values = [*moves(written, buffer), *moves(data[:size], buffer[:size])]
    layer.head("write", match, match, [*values, *moves(own, buffer[: len(own)])])
    second = 1.0 if "write sign" in printed else -1.0
    closing, bias = {rows["scratch"][0]: CLOSED}, 0.0
    if constant_gate:
        closing, bias = {rows["not scratch"][0]: -CLOSED}, CLOSED
    for source, target in zip(buffer, written, strict=True):
        layer.unit("write", {source: 2.0, target: -2.0, **closing}, {target: 1.0}, bias=bias)
        layer.unit("write", {source: -2.0, target: 2.0, **closing}, {target: second}, bias=bias)
    layer.clear([*rows["buffer"], *data, *own])
    for block in layout.blocks:
        layer.clear(rows[block.name])
        layer.clear(list(layout.copies.get(block.name, {}).values()))
    return layer


def _branch(layout: FleqLayout, cleared: bool) -> list[Layer]:
    """Step 7: read the flag cell, make a bit of it, add 1 to the counter, choose the next instruction. Four layers.

    Without ``cleared`` (for a control) the copy of the instruction stays, and the next one is added to it.
    """
    rows = layout.rows
    (flag,), (scratch,) = rows["flag"], rows["scratch"]
    read = Layer(rows, "7a read flag")
    read.head("flag", combine(rows["address"]), combine(rows["to flag"]), moves(rows["memory"][:1], [flag]))
    read.gated_move(flag, flag, {scratch: CLOSED}, gain=-1.0)
    bit = Layer(rows, "7b flag to a bit")
    bit.unit("1", {scratch: 1.0}, {flag: 1.0})
    bit.unit("- x", {flag: 1.0}, {flag: -1.0})
    bit.unit("+ x - 1", {flag: 1.0, scratch: -1.0}, {flag: 1.0})
    bit.clear([flag])
    count = Layer(rows, "7c counter + 1")
    _add_to_address(count, layout, rows["counter"], None, 1)
    select = Layer(rows, "7d next instruction")
    for here, target in zip(rows["counter"], rows["to target"], strict=True):
        select.unit("next", {here: 1.0, flag: -1.0}, {here: 2.0})
        select.unit("target", {target: 1.0, scratch: -1.0, flag: 1.0}, {here: 2.0})
        select.unit("lowest value", {scratch: 1.0}, {here: -1.0})
    select.clear(rows["counter"])
    select.clear(layout.instruction_rows if cleared else [])
    select.clear([rows[f"mask {name}"][0] for name in "abc"] + [flag])
    return [read, bit, count, select]
