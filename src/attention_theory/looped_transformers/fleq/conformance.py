"""The FLEQ machine against the interpreter on random programs: counter and memory after every cycle of each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import (
    FUNCTIONS,
    FleqProgram,
    FleqRun,
    Function,
    Instruction,
    interpret,
)
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require, require_some

#: The variables of a random program: matrices, and integers for flags.
_MATRICES, _INTEGERS = ("x", "y", "z"), ("s", "t")

#: Moves of a pointer by d cells for which a random program has empty cells behind its matrices.
_MOVES = 16


def random_fleq_program(functions: Sequence[str], instructions: int, size: int, seed: Seed) -> FleqProgram:
    """Instructions with any function, operands, result and width; half of them jump, anywhere, on an integer.

    A third of the instructions count an integer up or down; the others work on three matrices of entries of about 1/2.

    Args:
        functions: to choose from.
        instructions: before the halt, at least 1.
        size: ``d``, at least 2.

    Raises:
        ParameterError: no function, no instruction, or d below 2.
    """
    require(instructions=(instructions, 1, None), size=(size, 2, None))
    require_some(functions=functions)
    source = generator(seed)

    def pick(choices: Sequence[str]) -> str:
        return choices[int(torch.randint(len(choices), (), generator=source))]

    labels = [f"l{place}" for place in range(instructions)] + ["end"]
    lines = []
    for label in labels[:-1]:
        count = pick(_INTEGERS)
        a, b, c = pick(_MATRICES), pick(_MATRICES), pick(_MATRICES)
        width = pick([str(one + 1) for one in range(size)])
        work = f"{c} = {pick(functions)}({a}, {b}) width {width}"
        step = f"{count} = {pick(['add', 'sub'])}({count}, one) width 1"
        jump = pick(["", f" if {pick(_INTEGERS)} <= 0 goto {pick(labels)}"])
        lines.append(f"{label}: {pick([work, work, step])}{jump}")
    integers = torch.randint(-3, 4, (len(_INTEGERS),), generator=source).tolist()
    matrices = normal(len(_MATRICES), size, size, seed=source) / 2
    values = dict(zip(_MATRICES, matrices, strict=True)) | dict(zip(_INTEGERS, map(float, integers), strict=True))
    return assemble("\n".join([*lines, "end: halt"]), values, size)


def random_pointer_program(functions: Sequence[str], instructions: int, size: int, seed: Seed) -> FleqProgram:
    """As above, and a third of the instructions move pointers: on by 1 to d cells, or back to a matrix.

    They move one or several addresses of any instruction that works on matrices; what is written may be moved as well.
    Integers lie in front of the matrices, so that no pointer comes upon them, and empty cells behind.

    Args:
        functions: to choose from.
        instructions: before the halt, at least 2.
        size: ``d``, at least 2.
        seed: of the program and its data.

    Raises:
        ParameterError: no function, fewer than 2 instructions, or d below 2.
    """
    require(instructions=(instructions, 2, None), size=(size, 2, None))
    require_some(functions=functions)
    source = generator(seed)

    def pick(choices: Sequence[str]) -> str:
        return choices[int(torch.randint(len(choices), (), generator=source))]

    labels = [f"l{place}" for place in range(instructions)] + ["end"]
    kinds = ["work", *(pick(["work", "count", "move", "move"]) for _ in labels[1:-1])]
    working = [label for label, kind in zip(labels, kinds, strict=False) if kind == "work"]
    widths, lines = [str(one + 1) for one in range(size)], []
    for label, kind in zip(labels, kinds, strict=False):
        jump = pick(["", f" if {pick(_INTEGERS)} <= 0 goto {pick(labels)}"])
        work = f"{pick(_MATRICES)} = {pick(functions)}({pick(_MATRICES)}, {pick(_MATRICES)}) width {pick(widths)}{jump}"
        count = pick(_INTEGERS)
        step = f"{count} = {pick(['add', 'sub'])}({count}, one) width 1{jump}"
        changed = f"{pick(working)}.{pick(['a', 'b', 'c', 'ab', 'bc', 'abc'])}"
        move = pick([f"advance {changed} by {pick(widths)}", f"rewind {changed} to {pick(_MATRICES)}"])
        lines.append(f"{label}: " + {"work": work, "count": step, "move": move}[kind])
    integers = [float(one) for one in torch.randint(-3, 4, (len(_INTEGERS),), generator=source).tolist()]
    matrices = normal(len(_MATRICES), size, size, seed=source) / 2
    values = dict(zip(_INTEGERS, integers, strict=True)) | dict(zip(_MATRICES, matrices, strict=True))
    return assemble("\n".join([*lines, "end: halt"]), {**values, "spare": 0.0}, size, {"spare": _MOVES * size})


@dataclass(frozen=True)
class _FleqConformance:
    """The result of a comparison.

    Attributes:
        programs: how many.
        wrong: those with a counter, or an address in an instruction, that is not the interpreter's in some cycle.
        cycles: compared, of all programs together.
        deviations: for each function the largest difference, over all cycles, between the memory after a cycle and what
            the instruction makes, exactly, of the memory before it. A move of pointers, ``advance`` or ``rewind``, is
            to leave it as it is.
        executed: how often each function was executed.
    """

    programs: int
    wrong: int
    cycles: int
    deviations: Mapping[str, float]
    executed: Mapping[str, int]

    @property
    def deviation(self) -> float:
        """The largest of all functions."""
        return max(self.deviations.values())


def fleq_conformance(
    machine: FleqMachine, programs: Sequence[FleqProgram], steps: int, limit: float = 4.0
) -> _FleqConformance:
    """Run programs of the machine's size side by side and compare every cycle.

    Args:
        machine: has blocks for all functions of the programs.
        programs: with pointer moves if the machine has the blocks for them.
        steps: at most so many cycles of each.
        limit: a program is compared until an entry of its memory exceeds this; the gates of the machine and the error
            of its products are made for data of bounded size.

    Raises:
        ParameterError: steps below 1, or a limit that is not positive.
    """
    require(steps=(steps, 1, None), limit=(limit, 1e-6, None))
    functions = FUNCTIONS | {block.name: block.reference for block in machine.layout.blocks}
    wrong = cycles = 0
    deviations: dict[str, float] = {}
    executed: Counter[str] = Counter()
    for program, run in zip(programs, machine.run_many(programs, steps), strict=True):
        reference = interpret(program, steps, functions)
        count = _within(reference, limit)
        same = all(map(torch.equal, run.pointers[:count], reference.pointers[:count]))
        wrong += run.counters[:count] != reference.counters[:count] or not same
        cycles += count
        before = program.memory
        for place, after in enumerate(run.memories[:count]):
            name, exact = _exactly(program, reference, place, before, functions)
            off = (after - exact).abs().max().nan_to_num(torch.inf).item()
            deviations[name] = max(off, deviations.get(name, 0.0))
            executed[name] += 1
            before = after
    return _FleqConformance(len(programs), wrong, cycles, deviations, dict(executed))


def _exactly(
    program: FleqProgram, reference: FleqRun, place: int, before: Tensor, functions: Mapping[str, Function]
) -> tuple[str, Tensor]:
    """The function of a step, and what it makes of the memory before it, with its addresses as they are by then."""
    number = reference.executed[place]
    instruction = program.code[number]
    if not isinstance(instruction, Instruction):
        return instruction.name, before
    now = dict(zip("abc", reference.pointers[place][number].tolist(), strict=True))
    return instruction.function, replace(instruction, **now).execute(before, functions)


def _within(reference: FleqRun, limit: float) -> int:
    """The cycles before an entry exceeds the limit, and none after the halt."""
    if not reference.counters:
        return 0
    inside = [float(memory.abs().max()) <= limit for memory in reference.memories]
    return inside.index(False) if False in inside else len(inside)
