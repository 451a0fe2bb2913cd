"""SUBLEQ steps a second on one core: the literal layers, the runner for one program, and the runner for many.

    OMP_NUM_THREADS=1 python benchmarks/looped_transformers_steps.py

Times are CPU seconds of this process. The states of runner and layers are compared, bit for bit, before anything is
timed.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention_theory.looped_transformers.subleq.language import random_program
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.looped_transformers.subleq.runner import SubleqRunner
from attention_theory.measure import cpu_seconds

BITS, CELLS, INSTRUCTIONS, BATCH, TEMPERATURE = 8, 12, 16, 128, 30.0  # 32 columns
DEPTHS: tuple[Depth, ...] = (10, 6, 4)


def build() -> None:
    """The machine for 64 columns."""
    SubleqMachine(6, BITS)


def literal_cycle(machine: SubleqMachine, state: Tensor) -> None:
    """One cycle of one program through the dense layers."""
    machine.cycle(state, TEMPERATURE)


def seconds_of_a_cycle(cycle: Callable[[], None], times: int) -> float:
    """CPU seconds of one cycle, from many in a row: a single one is too short for the clock."""

    def run() -> None:
        for _ in range(times):
            cycle()

    return cpu_seconds(run) / times


def main() -> None:
    torch.set_num_threads(1)
    programs = [random_program(CELLS, INSTRUCTIONS, BITS, seed) for seed in range(BATCH)]
    columns = programs[0].columns()
    print(f"n = {columns}, N = {BITS}; build of the machine for 64 columns: ", end="")
    print(f"{1e3 * cpu_seconds(build):.1f} ms")
    print(f"{'layers':>6} {'literal':>10} {'runner':>10} {'batched':>10} {'runner/literal':>15} {'batched/runner':>15}")
    for depth in DEPTHS:
        machine = SubleqMachine(5, BITS, depth)
        one, many = SubleqRunner(machine, programs[:1], TEMPERATURE), SubleqRunner(machine, programs, TEMPERATURE)
        state = machine.load(programs)
        for _ in range(20):
            state = machine.cycle(state, TEMPERATURE)
            many.cycle()
            assert torch.equal(state, many.state()), "the runner's states are not those of the layers"
        literal = 1 / seconds_of_a_cycle(partial(literal_cycle, machine, machine.load(programs[0])), 100)
        alone = 1 / seconds_of_a_cycle(one.cycle, 2000)
        batched = BATCH / seconds_of_a_cycle(many.cycle, 20)
        ratios = f"{alone / literal:>15.1f} {batched / alone:>15.1f}"
        print(f"{depth:>6} {literal:>10.0f} {alone:>10.0f} {batched:>10.0f} {ratios}")


if __name__ == "__main__":
    main()
