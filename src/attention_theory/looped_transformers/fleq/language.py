"""FLEQ as a language: instructions, programs, and the interpreter that says what they mean (Section C.2, Theorem 2).

An instruction computes ``mem[c] = f(mem[a], mem[b])`` and jumps if the first entry of ``mem[flag]`` is at most 0.
Memory is a row of cells, each a vector of ``d`` numbers; a matrix lies in consecutive cells, one for each of its
columns, and its address is that of the first. A program can change the addresses in its own instructions (Appendix O).
The interpreter is the reference for the transformer that runs FLEQ.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.validation import refuse_unless, require

#: The addresses of an instruction, its pointers to data.
_FIELDS = ("a", "b", "c")
Function = Callable[[Tensor, Tensor], Tensor]


def _matrix_product(a: Float[Tensor, "d d"], b: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """``A^T B``: the paper's ``f_mul`` transposes its first operand throughout (Lemma 14)."""
    return a.mT @ b


def _row_sigmoid(a: Float[Tensor, "d d"], b: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """The sigmoid of the first row of ``a``, zeros below it. ``b`` is not used."""
    out = torch.zeros_like(a)
    out[0] = a[0].sigmoid()
    return out


def _column_sigmoid(a: Float[Tensor, "d d"], b: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """The sigmoid of the first column of ``a``, zeros beside it. ``b`` is not used."""
    return _row_sigmoid(a.mT, b).mT


def on_first_entry(function: Callable[[Tensor], Tensor]) -> Function:
    """A function of one number as a function block: ``f(a[0, 0])`` in the first entry, zeros elsewhere."""

    def block(a: Float[Tensor, "d d"], b: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
        out = torch.zeros_like(a)
        out[0, 0] = function(a[0, 0])
        return out

    return block


#: What each function of the language computes, exactly.
FUNCTIONS: dict[str, Function] = {
    "mul": _matrix_product,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "transpose": lambda a, b: a.mT,
    "rowsigmoid": _row_sigmoid,
    "sigmoid": _column_sigmoid,
    "inverse": on_first_entry(torch.reciprocal),
    "root": on_first_entry(torch.sqrt),
}


@dataclass(frozen=True)
class Instruction:
    """``mem[c] = function(mem[a], mem[b]); if mem[flag] <= 0 goto target`` on ``width`` columns.

    Attributes:
        function: a name in :data:`FUNCTIONS`.
        a, b, c, flag: addresses of cells, from 0.
        target: the instruction to jump to, from 0.
        width: the columns of the operands and the result, ``d_w`` of the paper.
    """

    function: str
    a: int
    b: int
    c: int
    flag: int
    target: int
    width: int

    def execute(
        self, memory: Float[Tensor, "cells d"], functions: Mapping[str, Function] = FUNCTIONS
    ) -> Float[Tensor, "cells d"]:
        """The memory after the instruction, exactly."""
        a, b = (_read(memory, address, self.width) for address in (self.a, self.b))
        result = functions[self.function](a, b)
        after = memory.clone()
        after[self.c : self.c + self.width] = result.mT[: self.width]
        return after


@dataclass(frozen=True)
class PointerMove:
    """Self-modification: changes addresses in an instruction (``f_incr_pointer``, ``f_reset_pointer``).

    Attributes:
        instruction: the one that is changed.
        fields: which of its addresses: ``a``, ``b``, ``c`` or several, as ``bc``.
        by: added to each, if ``to`` is not given.
        to: the address that is put there.
        flag: a cell that holds 1. A pointer move never jumps, and in the machine every instruction has a flag.
    """

    instruction: int
    fields: str
    by: int = 1
    to: int | None = None
    flag: int = 0

    @property
    def name(self) -> str:
        """``advance`` or ``rewind``."""
        return "advance" if self.to is None else "rewind"


@dataclass(frozen=True)
class FleqProgram:
    """Code and the memory it starts from. The last instruction is the halt: it jumps to itself.

    Attributes:
        code: the instructions.
        memory: the cells, each a row of ``d`` numbers.
        addresses: the first cell of each named variable.
        labels: the instruction under each label.

    Raises:
        ParameterError: an instruction that reads or writes past the last cell, where the machine keeps its program; a
            pointer move of what is no instruction with addresses, of an unknown address, or to no cell.
    """

    code: tuple[Instruction | PointerMove, ...]
    memory: Float[Tensor, "cells d"]
    addresses: Mapping[str, int]
    labels: Mapping[str, int]

    def __post_init__(self) -> None:
        cells = len(self.memory)
        computing = [place for place, one in enumerate(self.code) if isinstance(one, Instruction)]
        for place, instruction in enumerate(self.code):
            if isinstance(instruction, Instruction):
                last = max(instruction.a, instruction.b, instruction.c) + instruction.width
                last = max(last, instruction.flag + 1)
                refuse_unless(
                    1 <= last <= cells,
                    f"memory must have the cells that instruction {place} uses, up to {last}, got {cells} cells",
                )
            else:
                to = 0 if instruction.to is None else instruction.to
                refuse_unless(
                    instruction.instruction in computing
                    and set() < set(instruction.fields) <= set(_FIELDS)
                    and 0 <= max(to, instruction.flag) < cells,
                    f"code must move addresses of instructions {computing} among {_FIELDS} to cells up to {cells - 1}, "
                    f"got {instruction} at {place}",
                )

    @property
    def halt(self) -> int:
        return len(self.code) - 1

    @property
    def functions(self) -> set[str]:
        """The functions that the instructions use."""
        return {instruction.function for instruction in self.code if isinstance(instruction, Instruction)}

    def variable(self, memory: Float[Tensor, "... cells d"], name: str) -> Float[Tensor, "... d d"]:
        """The ``d`` by ``d`` matrix that begins at a named variable."""
        start = self.addresses[name]
        return memory[..., start : start + self.size, :].mT

    def padded(self, cells: int, instructions: int) -> "FleqProgram":
        """The same program with empty cells behind its memory, and idle instructions before its halt.

        The weights of the machine depend on a program through these two numbers and ``d`` alone. All jumps to the halt
        lead to the new one. A program that runs into it goes there from the first idle instruction, a cycle later.

        Args:
            cells: memory columns.
            instructions: instruction columns, the halt included.

        Raises:
            ParameterError: fewer cells or instructions than the program has.
        """
        require(cells=(cells, len(self.memory), None), instructions=(instructions, len(self.code), None))
        memory, end = self.memory.new_zeros(cells, self.size), instructions - 1
        memory[: len(self.memory)] = self.memory
        *body, halt = (
            replace(one, target=end) if isinstance(one, Instruction) and one.target == self.halt else one
            for one in self.code
        )
        labels = {name: end if place == self.halt else place for name, place in self.labels.items()}
        return FleqProgram((*body, *[halt] * (instructions - len(body))), memory, self.addresses, labels)

    @property
    def size(self) -> int:
        """``d``: the largest matrix a cell block holds is ``d`` by ``d``."""
        return self.memory.shape[1]


@dataclass(frozen=True)
class FleqRun:
    """The run of an interpreter or a machine.

    Attributes:
        counters: the program counter after each step.
        memories: the cells after each step.
        halted: whether the halt was reached within the allowed steps.
        pointers: the addresses a, b, c in every instruction after each step (:func:`addresses`); nothing where a
            machine has no pointer blocks.
    """

    counters: list[int]
    memories: list[Float[Tensor, "cells d"]]
    halted: bool
    pointers: list[Int[Tensor, "instructions 3"]] = field(default_factory=list)

    @property
    def memory(self) -> Float[Tensor, "cells d"]:
        return self.memories[-1]

    @property
    def largest_entry(self) -> float:
        """The largest size of an entry of memory in any cycle: a machine's gates must exceed it (Appendix K)."""
        return max(memory.abs().max().item() for memory in self.memories)

    @property
    def executed(self) -> list[int]:
        """The instruction executed in each step."""
        return [0, *self.counters[:-1]]


def addresses(code: Sequence[Instruction | PointerMove], cells: int) -> Int[Tensor, "instructions 3"]:
    """The addresses a, b, c in every instruction.

    An instruction's column is a cell like any other, behind the data: it is what a pointer move has for its c.
    """
    return torch.tensor(
        [
            (one.a, one.b, one.c) if isinstance(one, Instruction) else (one.flag, one.flag, cells + one.instruction)
            for one in code
        ]
    )


def interpret(program: FleqProgram, max_steps: int = 10_000, functions: Mapping[str, Function] = FUNCTIONS) -> FleqRun:
    """Run a program exactly, one instruction a step, until the halt (not counted) or for ``max_steps`` steps.

    Operands are read as ``width`` columns and padded with zeros to ``d`` by ``d``; ``width`` columns of the result are
    written.

    Raises:
        ParameterError: ``max_steps`` below 1, or an instruction that is executed after its pointer was moved past the
            last cell, where the machine keeps its program.
    """
    require(max_steps=(max_steps, 1, None))
    code, memory, counter = list(program.code), program.memory.clone(), 0
    pointers = addresses(code, len(memory))
    counters: list[int] = []
    memories: list[Tensor] = []
    all_pointers: list[Tensor] = []
    while counter != program.halt and len(counters) < max_steps:
        instruction = code[counter]
        if isinstance(instruction, PointerMove):
            code[instruction.instruction] = moved(code[instruction.instruction], instruction)
            pointers = addresses(code, len(memory))
            counter += 1
        else:
            _refuse_past_the_end(counter, instruction, len(memory))
            memory = instruction.execute(memory, functions)
            jumps = memory[instruction.flag, 0] <= 0
            counter = instruction.target if jumps else counter + 1
        counters.append(counter)
        memories.append(memory)
        all_pointers.append(pointers)
    if not memories:
        memories.append(memory)
    return FleqRun(counters, memories, counter == program.halt, all_pointers)


def _refuse_past_the_end(number: int, instruction: Instruction, cells: int) -> None:
    for name in _FIELDS:
        last = getattr(instruction, name) + instruction.width
        refuse_unless(
            1 <= last <= cells,
            f"program must stay within its {cells} cells, pointer {name} of instruction {number} goes up to {last}",
        )


def _read(memory: Tensor, address: int, width: int) -> Tensor:
    cells = memory[address : address + width]
    padded = memory.new_zeros(memory.shape[1], memory.shape[1])
    padded[: len(cells)] = cells
    return padded.mT


def moved(instruction: Instruction | PointerMove, move: PointerMove) -> Instruction:
    """An instruction after addresses of it were moved on, or set back.

    Raises:
        TypeError: a pointer move, which has no pointer that could be moved.
    """
    if isinstance(instruction, PointerMove):
        raise TypeError("a pointer move cannot change a pointer move")
    values = {name: getattr(instruction, name) + move.by if move.to is None else move.to for name in move.fields}
    return replace(instruction, **values)  # type: ignore[arg-type]
