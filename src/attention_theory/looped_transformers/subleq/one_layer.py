"""SUBLEQ in one layer with one head: a looped transformer that executes an instruction in each pass of that layer.

Three delays make this possible. A result is not written in its own cycle: the scratchpad keeps it, and the memory takes
it over in the next. The next instruction is not chosen: the scratchpad has the addresses of its operands for both
cases, and a flag, and the next query meets the columns of one case only. And no instruction is fetched before it is
executed: its predecessor brought what is needed. So writing, choosing and reading are one head, and the ReLU units
subtract, compare and round.

Each cell has four columns, a role each; each instruction has two, for what follows it. Columns 0 to 3 are the
scratchpad, four times the same except for the sign of the result.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.looped_transformers.machine.codes import from_bits, position_codes, to_bits
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.rows import Combination, Rows, combine, moves
from attention_theory.validation import require

#: For what a cell's column is there: the first operand or the second, without a jump or after a jump. The columns of
#: first operands hold their bits with the other sign, so that the sum of two columns is a difference.
ROLES = (("a", False), ("a", True), ("b", False), ("b", True))

#: The address of the pending result, and of the start as an instruction. Cells have the addresses from 1 on, then come
#: the instructions.
PENDING = 0

#: The addresses of a command: the instruction's b, the operands of the next in the order of :data:`ROLES`, its place.
_ADDRESSES = len(ROLES) + 2


class OneLayerMachine(SubleqMachine):
    """A looped transformer of one layer and one head that executes one SUBLEQ instruction in each cycle.

    It has ``17 L + 2 N + 8`` rows, and ``4 cells + 2 instructions + 5`` columns.

    Args:
        address_bits: L, bits of an address: 1, the cells and the instructions are at most ``2**L`` together.
        bits: N, bits of an integer.
        dtype: float64 unless an experiment says otherwise.
        device: of matrices and states.

    Raises:
        ParameterError: an argument out of its range.
    """

    def __init__(
        self,
        address_bits: int,
        bits: int,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        require(address_bits=(address_bits, 2, 20), bits=(bits, 2, 40))
        self.address_bits, self.bits, self.scratch, self.real = address_bits, bits, len(ROLES), False
        self.dtype, self.device, self.writing_layer = dtype, torch.device(device), 0
        layer = _layer(address_bits, bits)
        LoopedTransformer.__init__(self, layer.rows, [layer], dtype, device)

    def columns(self, source: SubleqProgram) -> int:
        """The columns of a program's state."""
        return len(ROLES) * (1 + len(source.memory)) + 1 + 2 * len(source.code)

    def load(self, source: SubleqProgram | Sequence[SubleqProgram]) -> Float[Tensor, "... columns rows"]:
        """The state from which a program runs, or one state for each of several of the same shape.

        Raises:
            ParameterError: more cells and instructions than addresses, integers that do not fit, programs of different
                shape.
        """
        if not isinstance(source, SubleqProgram):
            return self._load_all(source)
        self._refuse_outside(source)
        rows, cells, end = self.rows, len(source.memory), len(source.code)
        codes = position_codes(source.columns(), self.address_bits, self.device).to(self.dtype)
        state = torch.zeros(self.columns(source), rows.size, dtype=self.dtype, device=self.device)
        own = rows.view(state, "encoding").unflatten(-1, (len(ROLES) + 1, self.address_bits))
        integers = to_bits(torch.tensor((source.memory[0], *source.memory), device=self.device), self.bits, self.dtype)
        for role, (operand, jumps) in enumerate(ROLES):
            columns = self.cells(role, cells)
            own[columns, role] = codes[1 : 1 + cells]
            rows.view(state, "operand")[columns] = _sign(operand == "b")
            rows.view(state, "branch")[columns] = _sign(jumps)
            rows.view(state, "memory")[columns] = _sign(operand == "b") * integers[1:]
            rows.view(state, "memory")[role] = _sign(operand == "b") * integers[0]
            rows.view(state, "pending")[role, role] = 1
        first = self.cells(len(ROLES), cells).start
        places = [PENDING, *range(1 + cells, 1 + cells + end)]
        own[first:, -1] = codes[[*places, *places[1:]], :]
        rows.view(state, "branch")[first:] = torch.tensor([[-1.0]] * (1 + end) + [[1.0]] * end)
        rows.view(state, "following")[first:] = codes[torch.tensor(self.commands(source))].flatten(1)
        rows.view(state, "instruction")[first:] = 1
        # At the start the content of cell 0 is pending.
        operands = [_address(cell, 0) for cell in source.code[0][:2] for _ in range(2)]
        rows.view(state, "command")[: self.scratch] = codes[[1, *operands, PENDING], :].flatten()
        rows.view(state, "flag")[: self.scratch] = -1
        return state

    def cells(self, role: int, count: int) -> slice:
        """The columns of ``count`` cells in a role."""
        return slice(self.scratch + role * count, self.scratch + (role + 1) * count)

    def commands(self, source: SubleqProgram) -> list[list[int]]:
        """The addresses in the columns of instructions, each of what follows: the first one's at the start; for each
        instruction those of the next without a jump; and for each those of the next after a jump.
        """
        made = [_command(source, place) for place in range(len(source.code))]
        return [made[0], *made[1:], made[-1], *(made[target] for _, _, target in source.code)]

    def counter(self, state: Float[Tensor, "... columns rows"], source: SubleqProgram) -> Int[Tensor, "..."]:
        """The number of the instruction to come."""
        cells, length = len(source.memory), self.address_bits
        place = from_bits(self.rows.view(state, "command")[..., 0, -length:])
        done = (place - cells).clamp(0, len(source.code))  # 0 at the start
        jumps = (self.rows.view(state, "flag")[..., 0, 0] > 0) & (done > 0)
        column = self.cells(len(ROLES), cells).start + done + jumps * len(source.code)
        places = from_bits(self.rows.view(state, "following")[..., -length:])
        return places.gather(-1, column[..., None])[..., 0] - 1 - cells

    def memory(self, state: Float[Tensor, "... columns rows"], source: SubleqProgram) -> Int[Tensor, "... cells"]:
        """The integers in the memory, with the pending result in its place."""
        cells, last = len(source.memory), len(ROLES) - 1
        stored = self.rows.view(state, "memory")
        address = from_bits(self.rows.view(state, "command")[..., 0, : self.address_bits])
        is_pending = address[..., None] == torch.arange(1, 1 + cells, device=state.device)
        pending = from_bits(stored[..., last, :], signed=True)[..., None]
        return torch.where(is_pending, pending, from_bits(stored[..., self.cells(last, cells), :], signed=True))


def _command(source: SubleqProgram, place: int) -> list[int]:
    """The addresses of a command. What the next instruction reads of this one's result is the pending result."""
    _, written, target = source.code[place]
    after, jumped = (source.code[following] for following in (min(place + 1, source.end), target))
    operands = [_address(cell, written) for pair in zip(after, jumped, strict=True) for cell in pair]
    return [1 + written, *operands[: len(ROLES)], 1 + len(source.memory) + place]


def _address(cell: int, written: int) -> int:
    return PENDING if cell == written else 1 + cell


def _sign(positive: bool) -> float:
    return 1.0 if positive else -1.0


def _layer(length: int, bits: int) -> Layer:
    rows = Rows(
        command=_ADDRESSES * length,  # of the scratchpad
        following=_ADDRESSES * length,  # of instructions
        encoding=(len(ROLES) + 1) * length,  # a part for each role, and one for instructions
        memory=bits,
        buffer=bits,
        flag=1,
        pending=len(ROLES),
        instruction=1,
        operand=1,
        branch=1,
    )
    layer = Layer(rows, "write, choose, read, subtract, compare, round")
    _head(layer, length)
    _keep_commands(layer)
    _keep_cells(layer)
    _subtract(layer)
    for name in ("command", "following", "memory", "buffer", "flag"):
        layer.clear(rows[name])
    return layer


def _head(layer: Layer, length: int) -> None:
    """The scratchpad meets both operands and what follows, with equal scores, and every other column itself.

    An address scores L with what it names. The flag adds 1 in the columns of its case and takes 1 off in those of the
    other. A cell meets the pending result too, and with equal scores, where that has the cell's address and role.
    """
    rows = layer.rows
    codes = [rows["encoding"][part * length : (part + 1) * length] for part in range(len(ROLES) + 1)]
    written, *asked = [rows["command"][part * length : (part + 1) * length] for part in range(_ADDRESSES)]
    nothing = position_codes(1, length)[PENDING].tolist()
    keys, queries = list[Combination](), list[Combination]()
    for pending, code, pointer in zip(rows["pending"], codes, asked, strict=False):
        keys += [{row: 1.0, pending: bit} for row, bit in zip(code, nothing, strict=True)]
        queries += combine(pointer)
    keys += combine(codes[-1]) + combine(*codes[:-1], written)
    queries += combine(codes[-1], asked[-1]) + combine(*codes[:-1])
    roles = list(zip(rows["pending"], ROLES, strict=True))
    keys.append({rows["operand"][0]: 1.0} | {row: _sign(name == "b") for row, (name, _) in roles})
    keys.append({rows["branch"][0]: 1.0} | {row: _sign(jumps) for row, (_, jumps) in roles})
    queries += [{rows["operand"][0]: 1.0}, {rows["branch"][0]: 1.0, rows["flag"][0]: 1.0}]
    values = moves(rows["following"], rows["following"], 3.0) + moves(rows["memory"], rows["buffer"], 3.0)
    layer.head("write, choose and read", keys=keys, queries=queries, values=values)


def _keep_commands(layer: Layer) -> None:
    """The signs of what follows: into the scratchpad's command, and back to the instructions, which saw themselves."""
    rows, gate = layer.rows, 16.0
    for name, columns in (("command", rows["pending"]), ("following", rows["instruction"])):
        opened = dict.fromkeys(columns, gate)
        for row, target in zip(rows["following"], rows[name], strict=True):
            _sign_of(layer, name, {row: 1.0} | opened, target, -gate)
        for column in columns:
            layer.unit(name, {column: 1.0}, dict.fromkeys(rows[name], -1.0))


def _keep_cells(layer: Layer) -> None:
    """Lemma 4's write, in the columns of cells: twice the mean of what is seen, less what was there, by its sign."""
    rows = layer.rows
    closed = dict.fromkeys([*rows["pending"], *rows["instruction"]], -64.0)
    for seen, row in zip(rows["buffer"], rows["memory"], strict=True):
        _sign_of(layer, "write", {seen: 2.0, row: -3.0} | closed, row, 0.0)
    layer.unit("write", closed, dict.fromkeys(rows["memory"], -1.0), 1.0)


def _sign_of(layer: Layer, name: str, inputs: Combination, target: int, bias: float) -> None:
    """Add 2 to a row where the inputs are at least 1/2, and nothing where they are at most -1/2."""
    steep = {row: 2 * weight for row, weight in inputs.items()}
    layer.unit(name, steep, {target: 1.0}, 2 * bias + 1)
    layer.unit(name, steep, {target: -1.0}, 2 * bias - 1)


def _subtract(layer: Layer) -> None:
    """The bits of ``mem[b] - mem[a]`` modulo ``2**N`` in the scratchpad, and the flag of a result that is at most 0.

    Row k of the buffer is bit k of b less that of a, twice. The sum s of the lowest, each at its place, is from
    ``1 - 2 h`` to ``2 h - 1``, where h is ``2**k``. Bit k of the difference is 1 from -h on, but not from 0 on, but
    again from h on. With all bits, the result is at most 0 from -h on, but not from 1 on, but again from h on.
    """
    rows, gate, doubled = layer.rows, 2.0 ** (len(layer.rows["memory"]) + 4), Combination()
    for place, (row, target) in enumerate(zip(rows["buffer"], rows["memory"], strict=True)):
        doubled = doubled | {row: 2.0**place}
        half = 2**place
        for sign, columns in ((-1.0, rows["pending"][:2]), (1.0, rows["pending"][2:])):
            _steps(layer, "subtract", doubled, columns, gate, {target: sign}, (-half, 0, half))
    _steps(layer, "flag", doubled, rows["pending"], gate, {rows["flag"][0]: 1.0}, (-half, 1, half))


def _steps(
    layer: Layer,
    name: str,
    doubled: Combination,
    columns: Sequence[int],
    gate: float,
    outputs: Combination,
    edges: tuple[int, int, int],
) -> None:
    """In some columns, outputs where s is at least the first edge, but not the second, but again the third; else less.

    Each step rises from 3/4 to 1/4 before its edge. ``doubled`` is ``2 s``.
    """
    inputs = doubled | dict.fromkeys(columns, gate)
    for edge, sign in zip(edges, (2.0, -2.0, 2.0), strict=True):
        for rise, side in ((1.5, sign), (0.5, -sign)):
            layer.unit(name, inputs, {row: side * weight for row, weight in outputs.items()}, rise - 2 * edge - gate)
    for column in columns:
        layer.unit(name, {column: 1.0}, {row: -weight for row, weight in outputs.items()})
