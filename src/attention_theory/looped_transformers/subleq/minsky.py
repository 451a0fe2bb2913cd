"""Minsky machines, and their translation to SUBLEQ (Appendix H, Algorithm 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attention_theory.looped_transformers.subleq.language import SubleqProgram, program
from attention_theory.randomness import Seed, generator
from attention_theory.validation import FORMS, Each, Form, refuse_unless, require

#: Memory cells of a translation: 0 and -1 are the reserved cells of every program; +1 and a spare register follow.
C_ZERO, C_MINUS, C_PLUS, SPARE, FIRST_REGISTER = 0, 1, 2, 3, 4


@dataclass(frozen=True)
class Add:
    """``mem[register] += 1``, go on."""

    register: int


@dataclass(frozen=True)
class Sub:
    """If ``mem[register] == 0`` go to ``target``; else ``mem[register] -= 1`` and go on."""

    register: int
    target: int


@dataclass(frozen=True)
class _MinskyRun:
    """The registers at the end and the number of steps, if the machine halted within the limit."""

    registers: tuple[int, ...]
    steps: int
    halted: bool


def interpret_minsky(code: Sequence[Add | Sub], registers: Sequence[int], steps: int) -> _MinskyRun:
    """Run a Minsky machine until it passes its last instruction, or for ``steps`` steps. Registers are not bounded.

    Raises:
        ParameterError: steps below 0, no register, or a negative one.
    """
    require(steps=(steps, 0, None), registers=(Each(registers), 0, None))
    memory, counter, done = list(registers), 0, 0
    while counter < len(code) and done < steps:
        instruction = code[counter]
        done += 1
        if isinstance(instruction, Add):
            memory[instruction.register] += 1
            counter += 1
        elif memory[instruction.register] == 0:
            counter = instruction.target
        else:
            memory[instruction.register] -= 1
            counter += 1
    return _MinskyRun(tuple(memory), done, counter >= len(code))


def translate(
    code: Sequence[Add | Sub], registers: Sequence[int], form: Form = "correct", short: bool = False
) -> SubleqProgram:
    """A SUBLEQ program that does what the Minsky machine does. Register ``r`` is memory cell ``4 + r``.

    Args:
        code: targets up to ``len(code)``, which halts.
        registers: what they hold at the start, at least 0.
        form: ``correct`` is Algorithm 6 with the operands in the order of Algorithm 1; ``printed`` has them the other
            way round.
        short: two instructions for a ``Sub`` in place of five, since registers are never negative (not in the paper).

    Raises:
        ParameterError: a register or a target out of range.
    """
    require(form=(form, FORMS), registers=(Each(registers), 0, None))
    length = {Add: 1, Sub: 2 if short else 5}
    starts = [0]
    for instruction in code:
        starts.append(starts[-1] + length[type(instruction)])
    made: list[tuple[int, int, int]] = []
    for instruction in code:
        refuse_unless(
            0 <= instruction.register < len(registers),
            f"code must name registers below {len(registers)}, got {instruction}",
        )
        cell, here = FIRST_REGISTER + instruction.register, len(made)
        if isinstance(instruction, Add):
            made.append((C_MINUS, cell, here + 1))
        else:
            refuse_unless(
                0 <= instruction.target <= len(code), f"code must have targets up to {len(code)}, got {instruction}"
            )
            made += _subtract(cell, here, starts[instruction.target], short)
    if form == "printed":
        made = [(b, a, c) for a, b, c in made]
    return program([1, 0, *registers], made)


def _subtract(a: int, here: int, target: int, short: bool) -> list[tuple[int, int, int]]:
    """The instructions for ``Sub``, from number ``here`` on."""
    if short:
        return [(C_ZERO, a, target), (C_PLUS, a, here + 2)]
    return [
        (SPARE, SPARE, here + 1),  # spare = 0
        (a, SPARE, here + 3),  # spare = -a; go on if a >= 0
        (C_PLUS, a, here + 5),  # a < 0, which no register ever is
        (C_ZERO, a, target),  # a = 0: to the target
        (C_PLUS, a, here + 5),  # a > 0: a - 1
    ]


def random_minsky(registers: int, instructions: int, seed: Seed) -> tuple[list[Add | Sub], list[int]]:
    """A random machine and random registers from 0 to 4: two additions for every three subtractions.

    Raises:
        ParameterError: registers or instructions below 1.
    """
    require(registers=(registers, 1, None), instructions=(instructions, 1, None))
    source = generator(seed)
    adds = (torch.rand(instructions, generator=source) < 0.4).tolist()
    which = torch.randint(0, registers, (instructions,), generator=source).tolist()
    targets = torch.randint(0, instructions + 1, (instructions,), generator=source).tolist()
    code = [
        Add(register) if is_add else Sub(register, target)
        for is_add, register, target in zip(adds, which, targets, strict=True)
    ]
    return code, torch.randint(0, 5, (registers,), generator=source).tolist()
