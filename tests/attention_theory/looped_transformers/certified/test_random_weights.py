"""A random entry of a machine's matrices is moved: its proof breaks, or the machine that is run is right all the same.

Not every weight is tight. Gates and scores have room, and some entries meet nothing but zeros.
"""

import random

import pytest
import torch
from torch import Tensor

from attention_theory.looped_transformers.certified.subleq_cycle import (
    Stage,
    Undecided,
    run_cycle,
    scene,
    stage_of,
    stages,
)
from attention_theory.looped_transformers.certified.words import Words
from attention_theory.looped_transformers.machine.layers import DenseLayer
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine

SEEDS = 20


def matrices(layer: DenseLayer) -> list[Tensor]:
    """All that a layer consists of."""
    heads = [matrix for head in layer.heads for matrix in (head.key, head.query, head.value)]
    return [*heads, layer.w1, layer.b1, layer.w2, layer.b2]


def move_an_entry(layer: DenseLayer, draws: random.Random) -> None:
    """Move a weight to the next float, or a zero to 1; each matrix and both kinds are equally likely."""
    matrix = draws.choice([matrix for matrix in matrices(layer) if matrix.numel()])
    weights = matrix.ne(0) if draws.random() < 0.5 and matrix.any() else matrix.eq(0)
    place = tuple(draws.choice(weights.nonzero().tolist() or [[0] * matrix.dim()]))
    far = torch.tensor(draws.choice([-99.0, 99.0]), dtype=matrix.dtype)
    matrix[place] = torch.nextafter(matrix[place], far) if matrix[place] else 1.0


@pytest.mark.parametrize("depth", [4, 6, 10])
def test_the_proof_of_a_subleq_cycle_breaks_or_the_machine_is_right(depth: Depth) -> None:
    machine = SubleqMachine(3, 2, depth)
    now = scene(machine, same=False)
    exact = list(stages(machine, now, []))
    noticed = 0
    for seed in range(SEEDS):
        moved, draws = SubleqMachine(3, 2, depth), random.Random(seed)
        place = draws.randrange(len(moved.dense))
        move_an_entry(moved.dense[place], draws)
        if is_proved(moved, place, exact, now.words):
            observed, wrong = run_cycle(moved, {"mem[a]": seed % 4, "mem[b]": seed // 4})
            assert not wrong, observed
        else:
            noticed += 1
    assert noticed >= SEEDS // 2


def is_proved(moved: SubleqMachine, place: int, exact: list[Stage], words: Words) -> bool:
    """Whether the cycle is proved right from the layer that was moved on; before it nothing has changed."""
    columns = exact[place].before
    try:
        for layer, stage in zip(moved.dense[place:], exact[place:], strict=True):
            columns = stage_of(layer, stage.name, columns, words, []).after
            if columns == stage.after:
                return True
    except Undecided:
        return False
    return False
