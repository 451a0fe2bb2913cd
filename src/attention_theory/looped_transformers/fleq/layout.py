"""Layout of the input of the FLEQ transformer (Figures 5 and 7, Eq. 8): rows by name, columns by kind.

Columns: scratchpad, memory cells, instructions, counted from 0; a column's address is its number in ±1 bits, least
significant first. The scratchpad and the rest have separate address rows, zero in the other's columns.
"""

import math
from collections.abc import Sequence
from typing import get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.encodings import sign_code
from attention_theory.looped_transformers.blocks.base import (
    BlockSetting,
    FunctionBlock,
    scratch_columns,
)
from attention_theory.looped_transformers.fleq._one_head import HeadSharing, rows_to_copy
from attention_theory.looped_transformers.fleq.language import FleqProgram, Instruction, PointerMove
from attention_theory.looped_transformers.machine.codes import from_bits
from attention_theory.rows import Rows
from attention_theory.validation import ParameterError, refuse_unless, require, require_shape

#: The fields of an instruction column, from its top.
_FIELDS = ("to a", "to b", "to c", "function", "to flag", "to target", "height", "width")

#: The bits of the number of a function that moves pointers: whether it sets them back; then whether it moves a, b, c.
_POINTER_BITS = 4


class FleqLayout:
    """The state of a FLEQ machine.

    Args:
        size: ``d``.
        cells: memory columns.
        instructions: instruction columns, the halt included.
        blocks: the function blocks, in the order of their numbers.
        inverse_temperature: factor on the scores.
        heads: with ``one`` there are rows for the copies that the chosen block fills.
        pointers: with rows for the addresses of an instruction that is changed.
        pointer_rows: so many of these rows at most (for a control); for all addresses unless given.

    Raises:
        ParameterError: d below 2, no cell, instruction or pointer row, a factor that is not positive, another
            choice of heads.
    """

    def __init__(
        self,
        size: int,
        cells: int,
        instructions: int,
        blocks: Sequence[FunctionBlock],
        inverse_temperature: float,
        heads: HeadSharing = "one",
        pointers: bool = False,
        pointer_rows: int | None = None,
    ) -> None:
        require(size=(size, 2, None), cells=(cells, 1, None), instructions=(instructions, 1, None))
        require(inverse_temperature=(inverse_temperature, 1e-6, None), heads=(heads, get_args(HeadSharing)))
        self.size, self.cells, self.blocks = size, cells, list(blocks)
        self.scratch = scratch_columns(size)
        self.first_instruction = self.scratch + cells
        self.columns = self.first_instruction + instructions
        self.setting = BlockSetting(size, self.columns, inverse_temperature)
        self.bits = math.ceil(math.log2(self.columns))
        self.function_bits = max(1, math.ceil(math.log2(len(self.blocks))))
        self.pointers = pointers
        if pointers:  # the last bit is on in the functions that move a pointer
            self.function_bits = max(self.function_bits, _POINTER_BITS) + 1
        fields = dict.fromkeys(_FIELDS, self.bits) | {"function": self.function_bits, "height": 1, "width": 1}
        moved = max(size, 3 * self.bits) if pointers else 3 * self.bits  # rows of a column that an instruction writes
        tall = max(size, moved + sum(fields.values()) - 3 * self.bits)
        own = {"memory": tall, "counter": self.bits, **fields, "mask a": 1, "mask b": 1, "mask c": 1}
        own |= {"data": 3 * size, "buffer": moved if pointers else tall}
        own |= {"address": self.bits, "scratch address": self.bits, "not scratch": 1, "flag": 1}
        if pointers:
            most = 3 * self.bits if pointer_rows is None else pointer_rows
            require(pointer_rows=(most, 1, None))
            own["pointers"] = min(most, 3 * self.bits)
        inside = {block.name: size for block in self.blocks}
        for block in self.blocks:
            inside |= block.sizes(self.setting)
        self.rows = Rows(**own, **self.setting.template, **inside)
        self.copies = self._copies() if heads == "one" else {}
        #: the memory rows in which an instruction lies: its addresses, and below all that is written the rest
        self.column_rows = [*range(3 * self.bits), *range(moved, moved + sum(fields.values()) - 3 * self.bits)]
        self.codes = sign_code(2**self.bits, self.bits).flip(-1)
        self.function_codes = sign_code(2**self.function_bits, self.function_bits).flip(-1)

    def _copies(self) -> dict[str, dict[int, int]]:
        """New rows for each block's copies of the fixed rows that it uses: by the block's name, from row to copy."""
        used = {block.name: rows_to_copy(block, self.rows, self.setting) for block in self.blocks}
        return {
            name: dict(zip(rows, self.rows.add(f"chosen {name}", len(rows)), strict=True))
            for name, rows in used.items()
            if rows
        }

    def drawing(self) -> Rows:
        """All rows in their order for a picture, with small blocks that lie side by side under one name."""
        blocks, template = [block.name for block in self.blocks], list(self.setting.template)
        names = dict.fromkeys(_FIELDS, "instruction") | dict.fromkeys(("mask a", "mask b", "mask c"), "masks")
        names |= dict.fromkeys(template, "marks") | {"not scratch": "marks", "flag": "marks"}
        sizes: dict[str, int] = {}
        for name, rows in self.rows.blocks.items():
            own = next((f"{block}: own rows" for block in blocks if name.startswith(f"{block} ")), name)
            shown = "copies for the chosen" if name.startswith("chosen ") else names.get(name, own)
            sizes[shown] = sizes.get(shown, 0) + len(rows)
        return Rows(**sizes)

    @property
    def pointer_rows(self) -> Sequence[int]:
        """The rows for the addresses of an instruction that is changed; none without pointer blocks."""
        return self.rows["pointers"] if self.pointers else []

    @property
    def instruction_rows(self) -> range:
        """The rows into which an instruction is read: its fields, one below the other."""
        first, last = self.rows[_FIELDS[0]], self.rows[_FIELDS[-1]]
        return range(first.start, last.stop)

    def pack(self, program: FleqProgram) -> Float[Tensor, "columns rows"]:
        """The state in which the machine starts a program.

        Raises:
            ParameterError: a program that does not have the machine's numbers of cells and instructions, or that uses
                a function without a block, or a pointer move where there are no pointer blocks.
        """
        require_shape(memory=(program.memory, (self.cells, self.size)))
        count = self.columns - self.first_instruction
        refuse_unless(len(program.code) == count, f"program must have {count} instructions, got {len(program.code)}")
        state = torch.zeros(self.columns, self.rows.size, dtype=torch.float64, device=program.memory.device)
        self.setting.fill(state, self.rows)
        for block in self.blocks:
            block.fill(state, self.rows, self.setting)
        self.rows.view(state, "scratch address")[: self.scratch] = self.codes[: self.scratch]
        self.rows.view(state, "address")[self.scratch :] = self.codes[self.scratch : self.columns]
        self.rows.view(state, "not scratch")[self.scratch :] = 1
        self.rows.view(state, "counter")[: self.scratch] = self.codes[self.first_instruction]
        memory = self.rows.view(state, "memory")
        memory[self.scratch : self.first_instruction, : self.size] = program.memory
        for place, instruction in enumerate(program.code):
            memory[self.first_instruction + place, self.column_rows] = self._column(place, instruction)
        return state

    def _column(self, place: int, instruction: Instruction | PointerMove) -> Float[Tensor, " fields"]:
        if isinstance(instruction, PointerMove):
            if not self.pointers:
                raise ParameterError(f"instruction {place} moves a pointer, and the machine has no pointer blocks")
            return self._move_column(instruction)
        names = [block.name for block in self.blocks]
        refuse_unless(
            instruction.function in names,
            f"program must use functions that have a block, {names}, got {instruction.function!r}",
        )
        addresses = {name: getattr(instruction, name) + self.scratch for name in ("a", "b", "c", "flag")}
        fields = {f"to {name}": self.codes[address] for name, address in addresses.items()}
        fields["to target"] = self.codes[self.first_instruction + instruction.target]
        fields["function"] = self.function_codes[names.index(instruction.function)]
        fields["height"] = self.codes.new_tensor([self.size])
        fields["width"] = self.codes.new_tensor([instruction.width])
        return torch.cat([fields[name] for name in _FIELDS])

    def _move_column(self, move: PointerMove) -> Float[Tensor, " fields"]:
        """A pointer move as an instruction: c is a column of the program, and in place of a target is what is added.

        It never jumps, so that nobody else reads its target. Setting back puts the target in the address's place.
        """
        number = 2 ** (self.function_bits - 1) + (move.to is not None)
        number += sum(2 ** (1 + "abc".index(field)) for field in set(move.fields))
        amount = move.by if move.to is None else move.to + self.scratch
        flag, one = self.codes[move.flag + self.scratch], self.codes.new_ones(1)
        changed = self.codes[self.first_instruction + move.instruction]
        function, target = self.function_codes[number], self.codes[amount % 2**self.bits]
        return torch.cat([flag, flag, changed, function, flag, target, self.size * one, one])

    def memory(self, state: Float[Tensor, "... columns rows"]) -> Float[Tensor, "... cells d"]:
        """The memory cells of a state."""
        return self.rows.view(state, "memory")[..., self.scratch : self.first_instruction, : self.size]

    def addresses(self, state: Float[Tensor, "... columns rows"]) -> Int[Tensor, "... instructions 3"]:
        """The addresses a, b, c that the instructions hold, as the language counts them; -1 for no number."""
        codes = self.rows.view(state, "memory")[..., self.first_instruction :, : 3 * self.bits]
        finite = torch.isfinite(codes).all(-1, keepdim=True)
        numbers = from_bits(codes.nan_to_num().unflatten(-1, (3, self.bits))) - self.scratch
        return numbers.where(finite, numbers.new_full((), -1))

    def counter(self, state: Float[Tensor, "columns rows"]) -> int:
        """The number of the instruction that comes next; -1 where the counter is no instruction's address."""
        bits = self.rows.view(state, "counter")[0]
        if not torch.isfinite(bits).all():
            return -1
        number = int(((bits > 0) * 2 ** torch.arange(self.bits, device=bits.device)).sum()) - self.first_instruction
        return number if 0 <= number < self.columns - self.first_instruction else -1
