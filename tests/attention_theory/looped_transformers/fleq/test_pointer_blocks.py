import pytest
import torch

from attention_theory.looped_transformers.fleq.pointer_blocks import PointerBlock
from attention_theory.validation import ParameterError


@pytest.mark.parametrize("field", [0, 1, 2])
@pytest.mark.parametrize("by", [1, 4, 7])
def test_one_address_moves_on(field: int, by: int) -> None:
    block = PointerBlock(32)
    state = block.load([(3, 9, 20), (30, 1, 2), (3, 9, 20)], place=30, origin=31)
    machine, expected = block.increment(field, by), [30, 1, 2]
    for _ in range(5):
        before, state = state, machine.cycle(state, 30.0)
        expected[field] = (expected[field] + by) % 32
        assert block.instruction(state, 30) == expected
        others = torch.arange(32) != 30
        others[0] = False
        assert torch.equal(state[others], before[others])


def test_reset_restores_bit_for_bit() -> None:
    block = PointerBlock(16)
    start = block.load([(3, 9, 4), (3, 9, 4)], place=14, origin=15)
    state = block.increment(1).run(start, 3, 30.0)
    assert block.instruction(state, 14) == [3, 12, 4]
    assert torch.equal(block.reset().cycle(state, 30.0)[1:], start[1:])


def test_too_few_rows_spoil_the_address() -> None:
    block = PointerBlock(16, height=5)
    state = block.increment(1).run(block.load([(3, 9, 4)], place=15, origin=15), 3, 30.0)
    assert block.instruction(state, 15) != [3, 12, 4]


def test_arguments_are_checked() -> None:
    with pytest.raises(ParameterError, match="height"):
        PointerBlock(16, height=13)
    with pytest.raises(ParameterError, match="field"):
        PointerBlock(16).increment(3)
