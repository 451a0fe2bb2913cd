"""The layers of SUBLEQ as a looped transformer: the paper's ten (Appendix G), and six and four that do it too.

Four to ten more keep an integer in one real row, and have the width of Lemma 1 as it is stated.
"""

from collections.abc import Collection, Sequence

from attention_theory.looped_transformers.machine.access import GATE, accept_read, accept_write, fetch
from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.branch import flag_of_bits, flag_of_integer, select_counter
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.looped_transformers.machine.rounding import correct, round_integer
from attention_theory.rows import Rows, combine, moves
from attention_theory.validation import Form


def subleq_layers(
    address_bits: int,
    bits: int,
    depth: int = 10,
    stages: int | None = None,
    printed: Collection[str] = (),
    gate: float = GATE,
    rounded: bool = True,
    rounded_reads: bool = True,
) -> list[Layer]:
    """The layers of a machine, on rows of the size that they need.

    Args:
        address_bits: L.
        bits: N.
        depth: 10, 6 or 4 where integers are bits.
        stages: the layers that round integers in one real row each; ``None`` keeps integers as bits.
        printed: the places that follow the paper, at depth 10.
        gate: the constant C of reads and write, at depth 10.
        rounded: ``False`` leaves the last layer without its error correction, at depth 10.
        rounded_reads: the two reads correct errors too, at depths 10 and 6.
    """
    if stages is not None:
        return _real_layers(_real_rows(address_bits), bits, stages)
    if depth == 4:
        return _four_layers(_four_rows(address_bits, bits))
    rows = _ten_rows(address_bits, bits)
    reads = [_read_instruction(rows, gate, rounded_reads), _read_operands(rows, gate, rounded_reads)]
    return [*reads, *(_six_layers(rows) if depth == 6 else _ten_layers(rows, printed, gate, rounded))]


def _ten_rows(address_bits: int, bits: int) -> Rows:
    """``8 L + 3 N + max(3 L, 2 N) + 1`` rows. The paper's ``8 log n + 2 log N + 1`` has no room for the integers."""
    return Rows(
        command=3 * address_bits,
        memory=bits,
        first=bits,
        second=bits,
        instruction=3 * address_bits,
        counter=address_bits,
        encoding=address_bits,
        buffer=max(3 * address_bits, 2 * bits),
        indicator=1,
    )


def _ten_layers(rows: Rows, printed: Collection[str], gate: float, rounded: bool) -> list[Layer]:
    """The construction of Appendix G after its reads, with its slips repaired except for the places that are named.

    ``gate`` is the constant C of reads and write; without ``rounded`` the last layer does not correct errors (Step 6).
    """
    bits, indicator = len(rows["memory"]), rows["indicator"][0]
    mask = None if "constants" in printed else indicator
    first, second, counter = rows["first"], rows["second"], rows["counter"]
    flip = Layer(rows, "flip the bits of mem[a]")
    for row in first:
        flip.unit("flip", {row: -1.0}, {row: 2.0})
        if mask is None:
            flip.constant({row: -1.0})
        else:
            flip.unit("flip", {mask: 1.0}, {row: -1.0})
    flip.clear(first, "residual")
    negate = Layer(rows, "add 1: now -mem[a]")
    add(negate, [(first, 1)], first, constant=1, indicator=mask)
    subtract = Layer(rows, "mem[b] - mem[a]")
    add(subtract, [(first, 1), (second, 1)], second, indicator=mask)
    subtract.clear(first)
    write = Layer(rows, "write to mem[b]")
    _fetch_operand(write, rows, operand=1)
    accept_write(write, rows["memory"], rows["buffer"][bits : 2 * bits], indicator, gate, _form("write" in printed))
    flag = Layer(rows, "flag: is the result at most 0?")
    flag_of_bits(flag, second, second[0], indicator, _form("flag" in printed))
    flag.clear(second, "residual")
    following = Layer(rows, "counter + 1")
    add(following, [(counter, 1)], counter, constant=1, indicator=mask)
    select = Layer(rows, "select the next counter")
    select_counter(select, counter, _pointer(rows, 2), counter, second[0], indicator)
    rounding = Layer(rows, "correct errors")
    if rounded:
        correct(rounding, range(rows.size))
    return [flip, negate, subtract, write, flag, following, select, rounding]


def _six_layers(rows: Rows) -> list[Layer]:
    """The four after the paper's own reads, merged where nothing is in the way.

    Flipping the bits of mem[a] is negating rows, so ``mem[b] - mem[a]`` is one adder with constant 1; the counter is
    incremented beside it; the flag is taken in the layer that writes.
    """
    bits, indicator = len(rows["memory"]), rows["indicator"][0]
    first, second, counter = rows["first"], rows["second"], rows["counter"]
    subtract = Layer(rows, "mem[b] - mem[a], counter + 1")
    add(subtract, [(second, 1), (first, -1)], second, constant=1, indicator=indicator)
    add(subtract, [(counter, 1)], counter, constant=1, indicator=indicator)
    subtract.clear(first)
    write = Layer(rows, "write to mem[b], flag")
    _fetch_operand(write, rows, operand=1)
    accept_write(write, rows["memory"], rows["buffer"][bits : 2 * bits], indicator)
    flag_of_bits(write, second, first[0], indicator)
    select = Layer(rows, "select the next counter")
    select_counter(select, counter, _pointer(rows, 2), counter, first[0], indicator)
    rounding = Layer(rows, "correct errors")
    correct(rounding, range(rows.size))
    return [subtract, write, select, rounding]


def _four_rows(address_bits: int, bits: int) -> Rows:
    """``9 L + 4 N + 3`` rows: a second counter, a flag, and ``idle``, which is 1 outside the scratchpad."""
    return Rows(
        command=3 * address_bits,
        memory=bits,
        first=bits,
        second=bits,
        instruction=3 * address_bits,
        counter=address_bits,
        following=address_bits,
        encoding=address_bits,
        buffer=bits,
        flag=1,
        indicator=1,
        idle=1,
    )


def _four_layers(rows: Rows) -> list[Layer]:
    """Four layers: keys unlike queries let a read land in empty rows, so that nothing has to be averaged away.

    Keys are the encodings; the query is the pointer. A column without a pointer asks, through ``idle``, for the
    scratchpad, where the rows it would copy are empty.
    """
    indicator, counter = rows["indicator"][0], rows["counter"]
    first, second, memory, flag = rows["first"], rows["second"], rows["memory"], rows["flag"]
    read = Layer(rows, "read the instruction, counter + 1")
    _fetch_into_empty(read, rows, "instruction", counter, rows["command"], rows["instruction"])
    add(read, [(counter, 1)], rows["following"], constant=1, indicator=indicator)
    subtract = Layer(rows, "read mem[a] and mem[b], subtract")
    _fetch_into_empty(subtract, rows, "mem[a]", _pointer(rows, 0), memory, first)
    _fetch_into_empty(subtract, rows, "mem[b]", _pointer(rows, 1), memory, second)
    add(subtract, [(second, 1), (first, -1)], second, constant=1, indicator=indicator)
    subtract.clear(first)
    write = Layer(rows, "write to mem[b], flag")
    fetch(write, "mem[b]", _pointer(rows, 1), rows["encoding"], memory, second, rows["buffer"])
    accept_write(write, memory, rows["buffer"], indicator)
    flag_of_bits(write, second, flag[0], indicator)
    select = Layer(rows, "select the next counter, clear, correct errors")
    select_counter(select, rows["following"], _pointer(rows, 2), counter, flag[0], indicator, ramps=True)
    for name in ("instruction", "first", "second", "following", "flag"):
        select.clear(rows[name])
    for name in ("command", "memory", "encoding"):
        correct(select, rows[name])
    return [read, subtract, write, select]


def _real_rows(address_bits: int) -> Rows:
    """``8 L + 6`` rows for integers of any size: an integer is one entry, addresses stay binary."""
    return Rows(
        command=3 * address_bits,
        memory=1,
        first=1,
        second=1,
        instruction=3 * address_bits,
        counter=address_bits,
        encoding=address_bits,
        buffer=1,
        indicator=1,
        idle=1,
    )


def _real_layers(rows: Rows, bits: int, stages: int) -> list[Layer]:
    """Layers on integers of N bits in one row each, with the reads of :func:`_four_layers` and the paper's write.

    The difference takes one unit of each sign, and the flag is eq. (3). N bits cost weights and hidden units: the gate
    that is closed in the scratchpad has to exceed every difference of two integers, ``2**(N + 1)``, and the memory is
    rounded by a staircase with a step for each integer.

    Args:
        rows: of :func:`_real_rows`.
        bits: N.
        stages: the layers of the staircase, the first of which also selects the counter (see ``round_integer``); at 0
            integers are not rounded, and the noise of a soft maximum stays.

    Returns:
        Three layers and one for each stage, at least four.
    """
    indicator, counter = rows["indicator"][0], rows["counter"]
    first, second, memory = rows["first"], rows["second"], rows["memory"]
    read = Layer(rows, "read the instruction, counter + 1")
    _fetch_into_empty(read, rows, "instruction", counter, rows["command"], rows["instruction"])
    add(read, [(counter, 1)], counter, constant=1, indicator=indicator)
    subtract = Layer(rows, "read mem[a] and mem[b], subtract")
    _fetch_into_empty(subtract, rows, "mem[a]", _pointer(rows, 0), memory, first)
    _fetch_into_empty(subtract, rows, "mem[b]", _pointer(rows, 1), memory, second)
    for sign in (1.0, -1.0):
        subtract.unit("subtract", {first[0]: sign}, {second[0]: -sign})
    subtract.clear(first)
    write = Layer(rows, "write to mem[b], flag")
    fetch(write, "mem[b]", _pointer(rows, 1), rows["encoding"], memory, second, rows["buffer"])
    accept_write(write, memory, rows["buffer"], indicator, gate=2.0 ** (bits + 1))
    flag_of_integer(write, second[0], first[0], indicator)
    select = Layer(rows, "select the next counter, clear, correct errors")
    select_counter(select, counter, _pointer(rows, 2), counter, first[0], indicator, ramps=True)
    for name in ("instruction", "first", "second"):
        select.clear(rows[name])
    for name in ("command", "encoding"):
        correct(select, rows[name])
    rounding = [select, *(Layer(rows, f"round the memory, digit {stage}") for stage in range(2, stages + 1))]
    if stages:
        round_integer(rounding, memory[0], rows["buffer"][0], bits)
    return [read, subtract, write, *rounding]


def _form(printed: bool) -> Form:
    return "printed" if printed else "correct"


def _pointer(rows: Rows, operand: int) -> range:
    """The pointer to a, b or c within the instruction."""
    length = len(rows["encoding"])
    return rows["instruction"][operand * length : (operand + 1) * length]


def _read_instruction(rows: Rows, gate: float, rounded: bool) -> Layer:
    layer = Layer(rows, "read the instruction")
    target = rows["instruction"]
    buffer = rows["buffer"][: len(target)]
    fetch(layer, "instruction", rows["counter"], rows["encoding"], rows["command"], target, buffer)
    accept_read(layer, target, buffer, rows["indicator"][0], gate, rounded=rounded)
    return layer


def _read_operands(rows: Rows, gate: float, rounded: bool) -> Layer:
    layer = Layer(rows, "read mem[a] and mem[b]")
    bits = len(rows["memory"])
    for operand, name in enumerate(("first", "second")):
        _fetch_operand(layer, rows, operand)
        buffer = rows["buffer"][operand * bits : (operand + 1) * bits]
        accept_read(layer, rows[name], buffer, rows["indicator"][0], gate, rounded=rounded)
    return layer


def _fetch_operand(layer: Layer, rows: Rows, operand: int) -> None:
    bits = len(rows["memory"])
    scratch = rows["first"] if operand == 0 else rows["second"]
    buffer = rows["buffer"][operand * bits : (operand + 1) * bits]
    name = "mem[a]" if operand == 0 else "mem[b]"
    fetch(layer, name, _pointer(rows, operand), rows["encoding"], rows["memory"], scratch, buffer)


def _fetch_into_empty(
    layer: Layer, rows: Rows, name: str, pointer: Sequence[int], source: Sequence[int], target: Sequence[int]
) -> None:
    """A head whose keys are the encodings and whose queries are a pointer; columns without one match column 0."""
    strength = 2.0 * len(rows["encoding"])
    keys = [*combine(rows["encoding"]), {rows["indicator"][0]: 1.0}]
    queries = [*combine(pointer), {rows["idle"][0]: strength}]
    layer.head(name, keys=keys, queries=queries, values=moves(source, target))
