"""SUBLEQ steps a second on one core: full matrices, the module, the layers without what comes to nothing, the runner.

    OMP_NUM_THREADS=1 python benchmarks/looped_transformers_steps.py

A plain Python interpreter is timed as well. Times are CPU seconds of this process. All take turns, a few cycles at a
time, and each goes on from the state that it has reached; a pace is that of its fastest turn, since whatever else runs
on the machine only slows. The states of module, sparse layers and runner are compared, bit for bit, before anything is
timed. It ends non-zero where the module is slower than the full matrices, except for one program in 32 columns, where
the time goes into starting operations and the module has more of them; where the runner is more than four times as fast
as the sparse layers for one program; or where it is slower than is asked of it at 32 columns (:data:`ASKED`).
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from attention_theory.layers import attention
from attention_theory.looped_transformers.machine.sparse_layers import SparseLayers
from attention_theory.looped_transformers.subleq.language import SubleqProgram, interpret, random_program
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.looped_transformers.subleq.runner import SubleqRunner
from attention_theory.looped_transformers.subleq.transformer import SubleqTransformer
from attention_theory.measure import timed

BITS, TEMPERATURE = 8, 30.0
DEPTHS: tuple[Depth, ...] = (10, 6, 4)


@dataclass(frozen=True)
class Size:
    """What is run: 32 or 400 columns, one program or several side by side."""

    cells: int
    instructions: int
    address_bits: int
    programs: int
    cycles: int

    @property
    def columns(self) -> int:
        return self.cells + self.instructions + 4


SIZES = [Size(12, 16, 5, 1, 40), Size(12, 16, 5, 128, 2), Size(200, 196, 9, 1, 10), Size(200, 196, 9, 4, 3)]
TURNS = 10

#: Steps a second of the runner at 32 columns, by depth and programs.
ASKED = {(10, 1): 5_000, (4, 1): 10_000, (10, 128): 40_000, (4, 128): 65_000}


def paces(cycles: Sequence[Callable[[], object]], size: Size) -> list[float]:
    """Steps a second of each, from turns of many cycles in a row: a single one is too short for the clock."""

    def turn(cycle: Callable[[], object]) -> None:
        for _ in range(size.cycles):
            cycle()

    turns = [[timed(partial(turn, cycle))[1] for cycle in cycles] for _ in range(TURNS)]
    return [size.cycles * size.programs / min(times) for times in zip(*turns, strict=True)]


class Going:
    """Layers that go on from their last state."""

    def __init__(self, cycle: Callable[[Tensor], Tensor], state: Tensor) -> None:
        self.once, self.state = cycle, state

    def cycle(self) -> None:
        self.state = self.once(self.state)


def literal(machine: SubleqMachine, state: Tensor) -> Tensor:
    """A cycle by the matrices of eqs. (1a) and (1b) with all their zeros."""
    for layer in machine.dense:
        attended = state
        for head in layer.heads:
            asked, given = state @ head.query.mT, state @ head.key.mT
            attended = attended + attention(asked, given, state @ head.value.mT, scale=TEMPERATURE)
        state = attended + torch.relu(attended @ layer.w1.mT + layer.b1) @ layer.w2.mT + layer.b2
    return state


def interpreter_pace(programs: Sequence[SubleqProgram]) -> float:
    """Steps a second of the interpreter, which keeps the memory after each step."""
    turns = [timed(lambda: sum(len(interpret(one, BITS, 200)) for one in programs)) for _ in range(TURNS)]
    return max(steps / seconds for steps, seconds in turns)


def measured(size: Size, depth: Depth) -> list[float]:
    """Steps a second of full matrices, module, sparse layers, runner and interpreter."""
    machine = SubleqMachine(size.address_bits, BITS, depth)
    programs = [random_program(size.cells, size.instructions, BITS, seed) for seed in range(size.programs)]
    runner, loaded = SubleqRunner(machine, programs, TEMPERATURE), machine.load(programs)
    full = Going(partial(literal, machine), loaded)
    module = Going(SubleqTransformer(programs[0], BITS, depth, num_tokens=2**size.address_bits), loaded)
    sparse = Going(SparseLayers(machine, TEMPERATURE).cycle, loaded)
    for _ in range(20 if size.columns < 100 else 3):
        for one in (full, module, sparse, runner):
            one.cycle()
        assert torch.equal(module.state, runner.state()), "the runner's states are not those of the module"
        assert torch.equal(module.state, sparse.state), "the sparse layers' states are not those of the module"
    return [*paces([full.cycle, module.cycle, sparse.cycle, runner.cycle], size), interpreter_pace(programs)]


def main() -> int:
    torch.set_num_threads(1)
    print(f"N = {BITS}, temperature {TEMPERATURE:g}; steps a second")
    heads = ["layers", "columns", "programs", "full", "module", "sparse", "runner", "interpreter"]
    heads += ["module/full", "sparse/module", "runner/sparse", "interpr/module"]
    print(" ".join(f"{head:>13}" for head in heads))
    good = True
    for size in SIZES:
        for depth in DEPTHS:
            full, module, sparse, runner, interpreter = measured(size, depth)
            counts = " ".join(f"{count:>13}" for count in (depth, size.columns, size.programs))
            paces = " ".join(f"{pace:>13.0f}" for pace in (full, module, sparse, runner, interpreter))
            ratios = (module / full, sparse / module, runner / sparse, interpreter / module)
            print(f"{counts} {paces} {' '.join(f'{ratio:>13.1f}' for ratio in ratios)}", flush=True)
            good &= module >= full or size == SIZES[0]
            good &= size.programs > 1 or runner <= 4 * sparse
            good &= size.columns > 100 or runner >= ASKED.get((depth, size.programs), 0)
    print("met" if good else "NOT MET", "(see the docstring)")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
