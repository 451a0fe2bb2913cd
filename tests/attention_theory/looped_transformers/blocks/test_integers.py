"""Blocks of integer arithmetic: exact for all pairs of numbers, whatever else the state holds."""

import pytest
import torch
from torch import Tensor

from attention_theory.looped_transformers.blocks._integers import FUNCTIONS, integer_blocks
from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.compiler.code import OPERATORS, wrap


def pairs(bits: int) -> tuple[Tensor, Tensor]:
    """All pairs of integers of so many bits, in the first entries of matrices."""
    numbers = torch.arange(-(2 ** (bits - 1)), 2 ** (bits - 1), dtype=torch.float64)
    every = torch.cartesian_prod(numbers, numbers)
    operands = torch.zeros(2, len(every), 2, 2, dtype=torch.float64)
    operands[:, :, 0, 0] = every.mT
    return operands[0], operands[1]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("bits", "spare"), [(2, 0), (5, 0), (4, 300)])
def test_all_pairs_are_exact(name: str, bits: int, spare: int) -> None:
    block = next(one for one in integer_blocks(bits) if one.name == name)
    a, b = pairs(bits)
    allowed = (b[:, 0, 0] != 0) | (name not in ("floordiv", "mod", "digit"))
    run = run_block(block, a[allowed], b[allowed], spare=spare)
    assert torch.equal(run.result, block.reference(a[allowed], b[allowed]))
    assert all(len(layer.heads) <= 1 for layer in run.machine.layers)


def test_the_references_are_pythons() -> None:
    blocks = {block.name: block for block in integer_blocks(4)}
    a, b = pairs(4)
    names = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod"}
    for sign, name in names.items():
        results = blocks[name].reference(a, b)[:, 0, 0]
        for x, y, result in zip(a[:, 0, 0].tolist(), b[:, 0, 0].tolist(), results.tolist(), strict=True):
            assert (y == 0 and sign in ("//", "%")) or result == wrap(OPERATORS[sign](int(x), int(y)), 4)  # type: ignore[index]


def test_other_entries_of_the_operands_do_not_matter() -> None:
    a, b = torch.full((2, 2), 3.0, dtype=torch.float64), torch.full((2, 2), 2.0, dtype=torch.float64)
    results = {block.name: run_block(block, a, b).result for block in integer_blocks(8)}
    assert results["mul"].tolist() == [[6, 0], [0, 0]]
    assert results["mod"].tolist() == [[1, 0], [0, 0]]


def test_numbers_of_twenty_bits_are_exact() -> None:
    a, b = torch.zeros(2, 2, 2, dtype=torch.float64)
    a[0, 0], b[0, 0] = -(2**19), 2**19 - 1
    for block in integer_blocks(20):
        assert torch.equal(run_block(block, a, b).result, block.reference(a, b))
