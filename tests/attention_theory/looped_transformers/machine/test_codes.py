import torch

from attention_theory.encodings import sign_code
from attention_theory.looped_transformers.machine.codes import address_bits, from_bits, position_codes, to_bits


def test_codes_are_the_core_s_with_the_lowest_bit_first() -> None:
    assert torch.equal(position_codes(13), sign_code(13).flip(-1))


def test_one_bit_and_sixty_two() -> None:
    assert to_bits(1, 1).tolist() == [1]
    assert to_bits(5, 3).tolist() == [1, -1, 1]
    assert to_bits(-(2**61), 62).tolist() == [-1.0] * 61 + [1.0]
    assert to_bits(2**62, 62).tolist() == to_bits(-(2**62), 62).tolist() == [-1.0] * 62
    assert from_bits(torch.tensor([1.0])) == 1
    assert from_bits(torch.tensor([1.0]), signed=True) == -1
    assert from_bits(torch.full((62,), 1.0)) == 2**62 - 1
    assert [address_bits(columns) for columns in (1, 2, 3, 4, 5)] == [1, 1, 2, 2, 3]


def test_an_entry_is_read_by_its_sign_and_zero_is_none() -> None:
    assert from_bits(torch.tensor([0.3, -7.0, 1e-9])) == 5
    assert from_bits(torch.tensor([0.0, 0.0])) == 0
