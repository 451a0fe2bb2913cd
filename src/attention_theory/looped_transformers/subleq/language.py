"""SUBLEQ: subtract and branch if the result is at most zero (Algorithms 1 and 2), and its interpreter."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Int
from torch import Generator, Tensor

from attention_theory.randomness import Seed, generator
from attention_theory.validation import FORMS, Each, Form, refuse_unless, require

#: Memory cells 0 and 1 hold these, always: the last instruction, which loops in place, needs them (eq. 5).
RESERVED = (0, -1)


@dataclass(frozen=True)
class SubleqProgram:
    """A program with its memory, and the names a person gave to both.

    Memory and instructions are numbered apart, each from 0. The last instruction is ``(0, 1, itself)``: it subtracts
    0 from -1 and jumps to itself, and so halts.

    Attributes:
        memory: the integers at the start, the two reserved cells first.
        code: triples (a, b, c): ``mem[b] -= mem[a]``, then go to ``c`` if the result is at most 0, else to the next.
        cells: the number of the first memory cell of each name.
        labels: the number of the instruction of each label.
    """

    memory: tuple[int, ...]
    code: tuple[tuple[int, int, int], ...]
    cells: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The number of the last instruction."""
        return len(self.code) - 1

    @property
    def blocks(self) -> dict[str, range]:
        """The memory cells of each name: from its first to the next name's."""
        starts = sorted((place, name) for name, place in self.cells.items())
        following = pairwise([*starts, (len(self.memory), "")])
        return {name: range(place, end) for (place, name), (end, _) in following}

    def with_inputs(self, inputs: Mapping[str, int | Iterable[int]]) -> "SubleqProgram":
        """The program with other integers in the named cells at the start, one for each cell of a list.

        Raises:
            ParameterError: a name that the program does not have, or not as many integers as it has cells.
        """
        blocks, memory = self.blocks, list(self.memory)
        if inputs:
            require(inputs=(Each(list(inputs)), list(blocks)))
        for name, value in inputs.items():
            new = list(value) if isinstance(value, Iterable) else [value]
            refuse_unless(
                len(new) == len(blocks[name]),
                f"inputs must have one integer for each of the {len(blocks[name])} cells of {name!r}, got {len(new)}",
            )
            memory[blocks[name].start : blocks[name].stop] = new
        return replace(self, memory=tuple(memory))

    def columns(self, scratch: int = 1) -> int:
        """The columns of the machine's state: scratchpad, memory, instructions."""
        return scratch + len(self.memory) + len(self.code)

    def padded(self, cells: int, instructions: int) -> "SubleqProgram":
        """The same program with zeros behind its memory, and further last instructions behind its last.

        All jumps to the last instruction lead to the new one. A program that runs into it is there a step later.

        Args:
            cells: of memory, the reserved two included.
            instructions: the last one included.

        Raises:
            ParameterError: fewer cells or instructions than the program has.
        """
        require(cells=(cells, len(self.memory), None), instructions=(instructions, len(self.code), None))
        end = instructions - 1
        body = [(a, b, end if c == self.end else c) for a, b, c in self.code[:-1]]
        code = (*body, *[(0, 1, end)] * (instructions - len(body)))
        labels = {name: end if place == self.end else place for name, place in self.labels.items()}
        return SubleqProgram((*self.memory, *[0] * (cells - len(self.memory))), code, self.cells, labels)

    def notation(self, names: Mapping[int, str] | None = None) -> str:
        """The instructions as Algorithms 1 and 6 write them, ``Instr. 3: SUBLEQ(x, y, 4)``, one line for each.

        Args:
            names: the name of every cell; those that the program gives its cells unless given.
        """
        if names is None:
            names = {place: str(place) for place in range(len(self.memory))}
            for name, cells in self.blocks.items():
                names |= {cell: f"{name}[{cell - cells.start}]" if len(cells) > 1 else name for cell in cells}
        width = len(str(self.end))
        return "\n".join(
            f"Instr. {place:>{width}}: SUBLEQ({names[a]}, {names[b]}, {c})" for place, (a, b, c) in enumerate(self.code)
        )


def program(
    memory: Sequence[int],
    code: Sequence[tuple[int, int, int]],
    cells: Mapping[str, int] | None = None,
    labels: Mapping[str, int] | None = None,
) -> SubleqProgram:
    """A program from the cells after the reserved two and the instructions before the last.

    Raises:
        ParameterError: a cell that holds no integer, an operand that is no memory cell or a target that is no
            instruction.
    """
    if len(memory):
        require(memory=(Each(memory), -(2**62), 2**62))
    cells_total, end = len(RESERVED) + len(memory), len(code)
    for a, b, c in code:
        refuse_unless(
            0 <= a < cells_total and 0 <= b < cells_total and 0 <= c <= end,
            f"code must name cells below {cells_total} and instructions up to {end}, got {(a, b, c)}",
        )
    return SubleqProgram((*RESERVED, *memory), (*code, (0, 1, end)), dict(cells or {}), dict(labels or {}))


@dataclass(frozen=True)
class SubleqRun:
    """The run of an interpreter.

    Attributes:
        counters: the program counter after each step.
        memories: the memory after each step, one row per step.
        halted: whether the last instruction was reached.
    """

    counters: Int[Tensor, " steps"]
    memories: Int[Tensor, "steps cells"]
    halted: bool

    def __len__(self) -> int:
        return len(self.counters)


def interpret(source: SubleqProgram, bits: int, steps: int, form: Form = "correct") -> SubleqRun:
    """Run a program for at most ``steps`` steps, stopping where it reaches the last instruction (Algorithm 1).

    Args:
        source: the program.
        bits: integers are kept in ``bits``-bit two's complement: subtraction wraps around.
        steps: at least 1.
        form: ``printed`` branches "if the result is negative", as one sentence of Appendix C.1 has it.

    Raises:
        ParameterError: bits outside 2 to 62, or steps below 1.
    """
    require(bits=(bits, 2, 62), steps=(steps, 1, None), form=(form, FORMS))
    half, memory, counter = 2 ** (bits - 1), list(source.memory), 0
    counters: list[int] = []
    memories: list[list[int]] = []
    while counter != source.end and len(counters) < steps:
        a, b, c = source.code[counter]
        result = (memory[b] - memory[a] + half) % (2 * half) - half
        memory[b] = result
        counter = c if result < 0 or (result == 0 and form == "correct") else counter + 1
        counters.append(counter)
        memories.append(memory.copy())
    shape = (len(counters), len(memory))
    return SubleqRun(
        torch.tensor(counters, dtype=torch.int64),
        torch.from_numpy(np.array(memories, dtype=np.int64).reshape(shape)),
        counter == source.end,
    )


def random_program(cells: int, instructions: int, bits: int, seed: Seed, wild: bool = False) -> SubleqProgram:
    """A random program: any cell as first operand, reserved ones included, any other as second, any target.

    A quarter of the cells hold 0 at the start, and cell 0 is an operand as often as any: subtracting 0 is the case in
    which the machine's adder is most sensitive to noise.

    Args:
        cells: memory cells after the reserved two, at least 1.
        instructions: instructions before the last, at least 1.
        bits: bits of an integer, at least 2.
        seed: of everything.
        wild: go to the limits. Half of the cells hold the smallest integer, the largest, or a neighbour of these or of
            0; a quarter of the jumps lead to where they start; and reserved cells are written to like any other, after
            which the last instruction need not halt any more.

    Raises:
        ParameterError: cells or instructions below 1, or bits outside 2 to 62.
    """
    require(cells=(cells, 1, None), instructions=(instructions, 1, None), bits=(bits, 2, 62))
    source = generator(seed)
    half, total = 2 ** (bits - 1), len(RESERVED) + cells
    if wild:
        extremes = torch.tensor([-half, 1 - half, -1, 0, 1, half - 1])
        chosen = extremes[_draw(0, len(extremes), cells, source)]
        memory = torch.where(torch.rand(cells, generator=source) < 0.5, chosen, _draw(-half, half, cells, source))
    else:
        memory = _draw(1 - half, half, cells, source)
        memory[torch.rand(cells, generator=source) < 0.25] = 0
    a, b = _draw(0, total, instructions, source), _draw(0 if wild else len(RESERVED), total, instructions, source)
    stays = torch.rand(instructions, generator=source) < 0.25 if wild else torch.zeros(instructions, dtype=torch.bool)
    c = torch.where(stays, torch.arange(instructions), _draw(0, instructions + 1, instructions, source))
    return program(memory.tolist(), list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)))


def _draw(low: int, high: int, count: int, source: Generator) -> Int[Tensor, " count"]:
    return torch.randint(low, high, (count,), generator=source)
