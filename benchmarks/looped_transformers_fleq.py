"""A cycle of the FLEQ machine: dense layers beside eq. (1) written out column by column; and blocks in a batch.

    OMP_NUM_THREADS=1 python benchmarks/looped_transformers_fleq.py

The program is Newton's iteration for a 4 by 4 matrix. It prints the CPU seconds of a cycle in both forms and how far
apart the states are, and those of 200 products by the product block in one batch and one by one. It ends non-zero if
the states differ or the batch is less than 5 times as fast.
"""

import sys

import torch
from torch import Tensor

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.programs.newton import newton_program
from attention_theory.measure import cpu_seconds
from attention_theory.randomness import generator, normal

BATCH = 200


def literal_cycle(machine: FleqMachine, state: Tensor) -> Tensor:
    """Eqs. (1a) and (1b), head by head and column by column."""
    for layer in machine.transformer.dense:
        attended = state.clone()
        for head in layer.heads:
            keys, values = state @ head.key.mT, state @ head.value.mT
            for column in range(len(state)):
                scores = machine.inverse_temperature * (keys @ (head.query @ state[column]))
                attended[column] += scores.softmax(0) @ values
        after = attended.clone()
        for column in range(len(state)):
            hidden = torch.relu(layer.w1 @ attended[column] + layer.b1)
            after[column] += layer.w2 @ hidden + layer.b2
        state = after
    return state


def main() -> int:
    torch.set_num_threads(1)
    draw = generator(0)
    program = newton_program(torch.eye(4, dtype=torch.float64) + 0.1, 4)
    machine = FleqMachine(program)
    state = machine.layout.pack(program)
    apart = (machine.cycle(state) - literal_cycle(machine, state)).abs().max().item()
    dense, literal = cpu_seconds(lambda: machine.cycle(state)), cpu_seconds(lambda: literal_cycle(machine, state))
    print(f"one cycle: {dense:.4f} s dense, {literal:.4f} s by columns, {literal / dense:.1f} times; apart {apart:.1e}")

    a, b = normal(2, BATCH, 4, 4, seed=draw)
    block = ProductBlock()
    together = cpu_seconds(lambda: run_block(block, a, b))
    alone = cpu_seconds(lambda: [run_block(block, a[i : i + 1], b[i : i + 1]) for i in range(BATCH)])
    print(f"{BATCH} products: {together:.4f} s in a batch, {alone:.4f} s one by one, {alone / together:.1f} times")
    return 0 if apart < 1e-6 and alone > 5 * together else 1


if __name__ == "__main__":
    sys.exit(main())
