"""Instructions that change themselves: moving an address within an instruction on, and setting it back.

The loops of Algorithms 13, 15 and 16 walk through data by rewriting the address in one of their own instructions. An
instruction is a column like any other, so this is a read, an addition and a write: Lemmas 3, 10 and 4 on the rows of
the commands.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.machine.access import accept_read, accept_write, fetch
from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.codes import address_bits, from_bits, position_codes
from attention_theory.looped_transformers.machine.correction import correct
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.rows import Rows
from attention_theory.validation import require

#: Addresses in an instruction.
FIELDS = 3


class PointerBlock:
    """Blocks that change one address of one instruction, on commands of three addresses.

    Args:
        columns: n, of the state.
        height: rows of an instruction that a read or write moves; all ``3 L`` unless given. The function blocks of
            Theorem 2 move d rows, which may be fewer.

    Raises:
        ParameterError: an argument out of its range.
    """

    def __init__(self, columns: int, height: int | None = None) -> None:
        require(columns=(columns, 3, 2**20))
        self.columns, self.bits = columns, address_bits(columns)
        length = FIELDS * self.bits
        height = length if height is None else height
        require(height=(height, 1, length))
        self.height = height
        bits = {"pointer": self.bits, "origin": self.bits, "encoding": self.bits}
        self.rows = Rows(command=length, scratch=length, **bits, buffer=length, indicator=1)

    def increment(self, field: int, by: int = 1) -> LoopedTransformer:
        """Add ``by`` to address ``field`` of the instruction pointed to: read, add, write, round.

        ``by`` is 1 for data of one column and d for data of d columns.

        Raises:
            ParameterError: an address that an instruction does not have, or a step that no address holds.
        """
        require(field=(field, 0, FIELDS - 1), by=(by, 1, 2**self.bits - 1))
        move = Layer(self.rows, f"add {by}")
        target = self._field(field)
        add(move, [(target, 1)], target, by, self.rows["indicator"][0])
        return LoopedTransformer(self.rows, [self._read("pointer"), move, self._write(), self._round()])

    def reset(self) -> LoopedTransformer:
        """Put the instruction at ``origin`` in the place of the one at ``pointer``: read, write, round."""
        return LoopedTransformer(self.rows, [self._read("origin"), self._write(), self._round()])

    def load(self, instructions: list[tuple[int, int, int]], place: int, origin: int) -> Float[Tensor, "columns rows"]:
        """A state with instructions in its last columns, pointing to ``place`` and ``origin`` (numbers of columns).

        Raises:
            ParameterError: a column that the state does not have.
        """
        require(place=(place, 1, self.columns - 1), origin=(origin, 1, self.columns - 1))
        codes, rows = position_codes(self.columns), self.rows
        state = torch.zeros(self.columns, rows.size, dtype=torch.float64)
        rows.of(state, "command")[-len(instructions) :] = codes[torch.tensor(instructions)].flatten(1)
        rows.of(state, "encoding")[1:] = codes[1:]
        rows.of(state, "pointer")[0], rows.of(state, "origin")[0] = codes[place], codes[origin]
        rows.of(state, "indicator")[0] = 1
        return state

    def instruction(self, state: Float[Tensor, "columns rows"], column: int) -> list[int]:
        """The three addresses that a column holds."""
        return from_bits(self.rows.of(state, "command")[column].unflatten(0, (FIELDS, self.bits))).tolist()

    def _field(self, field: int) -> range:
        return self.rows["scratch"][field * self.bits : (field + 1) * self.bits]

    def _read(self, pointer: str) -> Layer:
        layer, rows, height = Layer(self.rows, f"read by the {pointer}"), self.rows, self.height
        scratch, buffer = rows["scratch"][:height], rows["buffer"][:height]
        fetch(layer, "read", rows[pointer], rows["encoding"], rows["command"][:height], scratch, buffer)
        accept_read(layer, scratch, buffer, rows["indicator"][0])
        return layer

    def _write(self) -> Layer:
        layer, rows, height = Layer(self.rows, "write by the pointer"), self.rows, self.height
        command, buffer = rows["command"][:height], rows["buffer"][:height]
        fetch(layer, "write", rows["pointer"], rows["encoding"], command, rows["scratch"][:height], buffer)
        accept_write(layer, command, buffer, rows["indicator"][0])
        layer.clear(rows["scratch"][height:])
        return layer

    def _round(self) -> Layer:
        layer = Layer(self.rows, "correct errors")
        correct(layer, range(self.rows.size))
        return layer
