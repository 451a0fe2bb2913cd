"""The FLEQ machine against the interpreter on random programs: counter and memory after every cycle of each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import (
    FUNCTIONS,
    FleqProgram,
    FleqRun,
    Instruction,
    execute,
    interpret,
)
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require

#: The variables of a random program: matrices, and integers for flags.
MATRICES, INTEGERS = ("x", "y", "z"), ("s", "t")


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
    require(functions=(len(functions), 1, None), instructions=(instructions, 1, None), size=(size, 2, None))
    source = generator(seed)

    def pick(choices: Sequence[str]) -> str:
        return choices[int(torch.randint(len(choices), (), generator=source))]

    labels = [f"l{place}" for place in range(instructions)] + ["end"]
    lines = []
    for label in labels[:-1]:
        count = pick(INTEGERS)
        a, b, c = pick(MATRICES), pick(MATRICES), pick(MATRICES)
        width = pick([str(one + 1) for one in range(size)])
        work = f"{c} = {pick(functions)}({a}, {b}) width {width}"
        step = f"{count} = {pick(['add', 'sub'])}({count}, one) width 1"
        jump = pick(["", f" if {pick(INTEGERS)} <= 0 goto {pick(labels)}"])
        lines.append(f"{label}: {pick([work, work, step])}{jump}")
    integers = torch.randint(-3, 4, (len(INTEGERS),), generator=source).tolist()
    matrices = normal(len(MATRICES), size, size, seed=source) / 2
    values = dict(zip(MATRICES, matrices, strict=True)) | dict(zip(INTEGERS, map(float, integers), strict=True))
    return assemble("\n".join([*lines, "end: halt"]), values, size)


@dataclass(frozen=True)
class FleqConformance:
    """What a comparison found.

    Attributes:
        programs: how many.
        wrong: those with a counter that is not the interpreter's in some cycle.
        cycles: compared, of all programs together.
        deviations: for each function the largest difference, over all cycles, between the memory after a cycle and what
            the instruction makes, exactly, of the memory before it.
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
) -> FleqConformance:
    """Run programs of the machine's size side by side and compare every cycle.

    Args:
        machine: has blocks for all functions of the programs.
        programs: without pointer moves.
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
        wrong += run.counters[:count] != reference.counters[:count]
        cycles += count
        before = program.memory
        for number, after in zip(reference.executed[:count], run.memories[:count], strict=False):
            instruction = program.code[number]
            assert isinstance(instruction, Instruction)
            off = (after - execute(instruction, before, functions)).abs().max().nan_to_num(torch.inf).item()
            deviations[instruction.function] = max(off, deviations.get(instruction.function, 0.0))
            executed[instruction.function] += 1
            before = after
    return FleqConformance(len(programs), wrong, cycles, deviations, dict(executed))


def _within(reference: FleqRun, limit: float) -> int:
    """The cycles before an entry exceeds the limit, and none after the halt."""
    if not reference.counters:
        return 0
    inside = [float(memory.abs().max()) <= limit for memory in reference.memories]
    return inside.index(False) if False in inside else len(inside)
