"""A machine against the interpreter: program counter and memory after every step of every program."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

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
)
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.looped_transformers.subleq.runner import SubleqRunner
from attention_theory.randomness import Seed, generator
from attention_theory.validation import Each, require

#: The ways to run a machine.
Executor = Literal["runner", "sparse", "layers"]


@dataclass(frozen=True)
class _Conformance:
    """The result of a comparison.

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
    by: Executor = "runner",
    beyond: int = 1,
) -> _Conformance:
    """Run programs of one shape and compare counter and memory with the interpreter's after every step.

    Args:
        machine: any of the three.
        programs: equally many cells and instructions in each.
        steps: at most so many of each program.
        inverse_temperature: multiplies the scores.
        rule: ``hardmax`` needs the literal layers.
        by: ``runner`` computes what a program can change, ``sparse`` all columns by :class:`SparseLayers`, ``layers``
            the literal layers.
        beyond: cycles after the longest program has come to its end. Halted programs must stay as they are, unless they
            have written to the reserved cells, which the last instruction needs.

    Raises:
        ParameterError: steps below 1, negative ``beyond``, or a rule or machine that ``by`` does not take.
    """
    require(steps=(steps, 1, None), beyond=(beyond, 0, None), by=(by, get_args(Executor)))
    require(rule=(rule, {"softmax", "hardmax"} if by == "layers" else {"softmax"}))
    runs = [interpret(one, machine.bits, steps) for one in programs]
    cycles = min(steps, max(len(run) for run in runs) + beyond)
    follow = torch.tensor([len(run) if _spoilt(run) else cycles for run in runs])
    counters = torch.tensor([one.end for one in programs])[:, None].repeat(1, cycles)
    memories = torch.zeros(len(programs), cycles, len(programs[0].memory), dtype=torch.int64)
    for place, (one, run) in enumerate(zip(programs, runs, strict=True)):
        counters[place, : len(run)] = run.counters
        memories[place, : len(run)] = run.memories
        memories[place, len(run) :] = run.memories[-1] if len(run) else torch.tensor(one.memory)
    agrees = torch.ones(len(programs), dtype=torch.bool)
    observed = _observe(machine, programs, inverse_temperature, rule, by)
    for cycle, (counter, memory) in zip(range(cycles), observed, strict=False):
        right = (counter == counters[:, cycle]) & (memory == memories[:, cycle]).all(dim=1)
        agrees &= right | (follow <= cycle)
    return _Conformance(agrees, torch.tensor([run.halted for run in runs]), sum(len(run) for run in runs))


def _spoilt(run: SubleqRun) -> bool:
    """Test whether a program has halted with other integers in the reserved cells."""
    return run.halted and bool(len(run)) and run.memories[-1, : len(RESERVED)].tolist() != list(RESERVED)


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
        wild: programs that go to the limits, see ``random_program``.

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
        yield machine, [random_program(cells, instructions, length, source, wild) for _ in range(size)]


def _observe(
    machine: SubleqMachine,
    programs: Sequence[SubleqProgram],
    inverse_temperature: float,
    rule: Rule,
    by: Executor,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Counter and memory after each cycle, without end."""
    if by == "runner":
        runner = SubleqRunner(machine, programs, inverse_temperature)
        while True:
            runner.cycle()
            yield runner.counters(), runner.memories()
    sparse = SparseLayers(machine, inverse_temperature) if by == "sparse" else None
    state = machine.load(programs)
    while True:
        state = sparse.cycle(state) if sparse else machine.cycle(state, inverse_temperature, rule)
        yield machine.counter(state, programs[0]), machine.memory(state, programs[0])
