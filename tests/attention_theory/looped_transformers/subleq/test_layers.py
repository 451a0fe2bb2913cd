import pytest

from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.subleq.machine import SubleqMachine


@pytest.mark.parametrize(("address_bits", "bits"), [(4, 8), (6, 8), (3, 12), (10, 32)])
def test_sizes(address_bits: int, bits: int) -> None:
    ten, six, four = (summarise(SubleqMachine(address_bits, bits, depth)) for depth in (10, 6, 4))
    assert (ten.layers, six.layers, four.layers) == (10, 6, 4)
    assert ten.heads == six.heads == four.heads == 2
    assert ten.width == 8 * address_bits + 3 * bits + max(3 * address_bits, 2 * bits) + 1
    assert four.width == 9 * address_bits + 4 * bits + 3
