"""SUBLEQ steps a second on one core: dense matrices, the layers without what comes to nothing, and the runner.

    OMP_NUM_THREADS=1 python benchmarks/looped_transformers_steps.py

Times are CPU seconds of this process, the best of three. The states of all three are compared, bit for bit, before
anything is timed. It ends non-zero if the runner is less than three times as fast as the dense matrices for one program
of 32 columns, or the sparse layers not faster than they are for one of 400.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from attention_theory.looped_transformers.machine.sparse_layers import SparseLayers
from attention_theory.looped_transformers.subleq.language import random_program
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.looped_transformers.subleq.runner import SubleqRunner
from attention_theory.measure import cpu_seconds

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


SIZES = [Size(12, 16, 5, 1, 100), Size(12, 16, 5, 128, 2), Size(200, 196, 9, 1, 10), Size(200, 196, 9, 4, 3)]


def steps_a_second(cycle: Callable[[], object], size: Size, times: int) -> float:
    """From many cycles in a row: a single one is too short for the clock."""

    def run() -> None:
        for _ in range(times):
            cycle()

    run()
    return times * size.programs / min(cpu_seconds(run) for _ in range(3))


def measured(size: Size, depth: Depth) -> tuple[float, float, float]:
    """Steps a second of the dense matrices, the sparse layers and the runner."""
    machine = SubleqMachine(size.address_bits, BITS, depth)
    programs = [random_program(size.cells, size.instructions, BITS, seed) for seed in range(size.programs)]
    runner, sparse = SubleqRunner(machine, programs, TEMPERATURE), SparseLayers(machine, TEMPERATURE)
    dense_state = state = machine.load(programs)
    for _ in range(20 if size.columns < 100 else 3):
        dense_state, state = machine.cycle(dense_state, TEMPERATURE), sparse.cycle(state)
        runner.cycle()
        assert torch.equal(dense_state, runner.state()), "the runner's states are not those of the layers"
        assert torch.equal(dense_state, state), "the sparse layers' states are not those of the layers"
    dense = steps_a_second(partial(machine.cycle, state, TEMPERATURE), size, size.cycles)
    return (
        dense,
        steps_a_second(partial(sparse.cycle, state), size, 3 * size.cycles),
        steps_a_second(runner.cycle, size, 10 * size.cycles),
    )


def main() -> int:
    torch.set_num_threads(1)
    print(f"N = {BITS}, temperature {TEMPERATURE:g}; steps a second")
    heads = ("layers", "columns", "programs", "dense", "sparse", "runner", "sparse/dense", "runner/sparse")
    print(" ".join(f"{head:>13}" for head in heads))
    good = True
    for size in SIZES:
        for depth in DEPTHS:
            dense, sparse, runner = measured(size, depth)
            counts = " ".join(f"{count:>13}" for count in (depth, size.columns, size.programs))
            paces = " ".join(f"{pace:>13.0f}" for pace in (dense, sparse, runner))
            print(f"{counts} {paces} {sparse / dense:>13.1f} {runner / sparse:>13.1f}", flush=True)
            if size.programs == 1:
                good &= runner > 3 * dense if size.columns < 100 else sparse > dense
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
