"""A machine against the interpreter: program counter and memory after every step of every program."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from attention_theory.layers import Rule
from attention_theory.looped_transformers.machine.codes import address_bits
from attention_theory.looped_transformers.machine.sparse_layers import SparseLayers
from attention_theory.looped_transformers.subleq.language import (
    RESERVED,
    SubleqProgram,
    SubleqRun,
    interpret,
    random_program,
    wild_program,
)
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.looped_transformers.subleq.runner import SubleqRunner
from attention_theory.randomness import Seed, generator
from attention_theory.validation import Each, require


@dataclass(frozen=True)
class Conformance:
    """What a comparison found.

    Attributes:
        agrees: for each program, whether counter and memory were right after every step.
        halted: for each program, whether it came to its end within the steps allowed.
        steps: the steps compared, of all programs together.
    """

    agrees: Bool[Tensor, " programs"]
    halted: Bool[Tensor, " programs"]
    steps: int

    @property
    def wrong(self) -> int:
        """The number of programs with a step that is not right."""
        return int((~self.agrees).sum())


def conformance(
    machine: SubleqMachine,
    programs: Sequence[SubleqProgram],
    steps: int,
    inverse_temperature: float = 30.0,
    rule: Rule = "softmax",
    dense: bool = False,
    beyond: int = 1,
) -> Conformance:
    """Run programs of one shape beside the interpreter.

    Args:
        machine: any of the three.
        programs: equally many cells and instructions in each.
        steps: at most so many of each program.
        inverse_temperature: of the softmax.
        rule: ``hardmax`` needs ``dense``.
        dense: run the literal layers in place of the runner that leaves out what cannot matter.
        beyond: cycles after the longest program has come to its end; halted programs must stay as they are, unless
            they have written to the reserved cells, which the last instruction needs.

    Raises:
        ParameterError: steps below 1, a negative number of cycles beyond them, or a rule that the runner does not have.
    """
    require(
        steps=(steps, 1, None), beyond=(beyond, 0, None), rule=(rule, {"softmax", "hardmax"} if dense else {"softmax"})
    )
    runs = [interpret(one, machine.bits, steps) for one in programs]
    longest = max(len(run) for run in runs)
    cycles = min(steps, longest + beyond)
    counters = torch.zeros(cycles, len(programs), dtype=torch.int64)
    memories = torch.zeros(cycles, len(programs), len(programs[0].memory), dtype=torch.int64)
    for place, (one, run) in enumerate(zip(programs, runs, strict=True)):
        counters[: len(run), place], counters[len(run) :, place] = run.counters, one.end
        memories[: len(run), place] = run.memories
        memories[len(run) :, place] = run.memories[-1] if len(run) else torch.tensor(one.memory)
    ends = torch.tensor([len(run) if _spoilt(run) else cycles for run in runs])
    agrees = torch.ones(len(programs), dtype=torch.bool)
    for cycle, (counter, memory) in enumerate(_observe(machine, programs, inverse_temperature, rule, dense)):
        if cycle == cycles:
            break
        agrees &= (counter == counters[cycle]) & (memory == memories[cycle]).all(dim=1) | (cycle >= ends)
    return Conformance(agrees, torch.tensor([run.halted for run in runs]), sum(len(run) for run in runs))


def _spoilt(run: SubleqRun) -> bool:
    """Whether a program has halted with other integers in the reserved cells."""
    return run.halted and bool(len(run)) and run.memories[-1, : len(RESERVED)].tolist() != list(RESERVED)


def conformance_of_layers(
    machine: SubleqMachine,
    programs: Sequence[SubleqProgram],
    steps: int,
    inverse_temperature: float = 30.0,
    beyond: int = 1,
) -> Conformance:
    """The same on all layers and all columns, by :class:`SparseLayers`; a program leaves when it has been followed.

    Args:
        machine: in float64 on the CPU.
        programs: equally many cells and instructions in each.
        steps: at most so many of each program.
        inverse_temperature: of the softmax.
        beyond: cycles after a program has come to its end.

    Raises:
        ParameterError: steps below 1, a negative number of cycles beyond them, or a machine of another type.
    """
    require(steps=(steps, 1, None), beyond=(beyond, 0, None))
    runs = [interpret(one, machine.bits, steps) for one in programs]
    follow = torch.tensor([min(steps, len(run) + (0 if _spoilt(run) else beyond)) for run in runs])
    layers, state, going = (
        SparseLayers(machine, inverse_temperature),
        machine.load(programs),
        torch.arange(len(programs)),
    )
    ends = torch.tensor([one.end for one in programs])
    agrees = torch.ones(len(programs), dtype=torch.bool)
    counters = ends[:, None].repeat(1, steps)
    memories = torch.zeros(len(programs), steps, len(programs[0].memory), dtype=torch.int64)
    for place, run in enumerate(runs):
        counters[place, : len(run)] = run.counters
        memories[place, : len(run)] = run.memories
        memories[place, len(run) :] = run.memories[-1] if len(run) else torch.tensor(programs[place].memory)
    for cycle in range(int(follow.max())):
        still = follow[going] > cycle
        if still.sum() < 0.8 * len(going):  # not each time one ends: what is known of the columns is lost with it
            state, going = state[still], going[still]
        state = layers.cycle(state)
        right = machine.counter(state, programs[0]) == counters[going, cycle]
        right &= (machine.memory(state, programs[0]) == memories[going, cycle]).all(dim=1)
        agrees[going] &= right | (follow[going] <= cycle)
    return Conformance(agrees, torch.tensor([run.halted for run in runs]), sum(len(run) for run in runs))


def random_batches(
    batches: int,
    size: int,
    seed: Seed,
    depth: Depth = 10,
    bits: tuple[int, int] = (4, 16),
    columns: tuple[int, int] = (8, 64),
    wild: bool = False,
) -> Iterator[tuple[SubleqMachine, list[SubleqProgram]]]:
    """Random programs in batches; each batch has its own number of bits, of columns and of memory cells.

    Args:
        batches: how many, at least 1.
        size: programs in each, at least 1.
        seed: of everything.
        depth: of the machines.
        bits: N is drawn from this range, both ends included.
        columns: n likewise, at least 8.
        wild: programs that go to the limits, see ``wild_program``.

    Raises:
        ParameterError: no batch, an empty batch, bits outside 2 to 50, or columns below 8.
    """
    require(
        batches=(batches, 1, None), size=(size, 1, None), bits=(Each(bits), 2, 50), columns=(Each(columns), 8, None)
    )
    source = generator(seed)
    for _ in range(batches):
        length = int(torch.randint(bits[0], bits[1] + 1, (), generator=source))
        total = int(torch.randint(columns[0], columns[1] + 1, (), generator=source))
        cells = int(torch.randint(1, total - 5, (), generator=source))
        instructions = total - 4 - cells  # one scratchpad column, two reserved cells, the last instruction
        machine = SubleqMachine(address_bits(total), length, depth)
        draw = wild_program if wild else random_program
        yield machine, [draw(cells, instructions, length, source) for _ in range(size)]


def _observe(
    machine: SubleqMachine, programs: Sequence[SubleqProgram], inverse_temperature: float, rule: Rule, dense: bool
) -> Iterator[tuple[Tensor, Tensor]]:
    """Counter and memory after each cycle, without end."""
    if dense:
        state = machine.load(programs)
        while True:
            state = machine.cycle(state, inverse_temperature, rule)
            yield machine.counter(state, programs[0]), machine.memory(state, programs[0])
    runner = SubleqRunner(machine, programs, inverse_temperature)
    while True:
        runner.cycle()
        yield runner.counters(), runner.memories()
