import pytest
import torch

from attention_theory.looped_transformers.machine.branch import flag_of_bits, flag_of_integer, select_counter
from attention_theory.looped_transformers.machine.codes import position_codes, to_bits
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.randomness import generator
from attention_theory.rows import Rows
from attention_theory.validation import Form


def bit_flags(bits: int, form: Form) -> tuple[torch.Tensor, torch.Tensor]:
    rows = Rows(value=bits, flag=1, indicator=1)
    layer = Layer(rows, "flag")
    flag_of_bits(layer, rows["value"], rows["flag"][0], rows["indicator"][0], form)
    values = torch.arange(-(2 ** (bits - 1)), 2 ** (bits - 1))
    state = torch.zeros(len(values), rows.size, dtype=torch.float64)
    rows.of(state, "value")[:] = to_bits(values, bits)
    rows.of(state, "indicator")[:] = 1
    return values, rows.of(layer.dense.feed_forward(state), "flag")[:, 0]


@pytest.mark.parametrize("bits", [2, 5, 9])
def test_flag_of_every_number_in_twos_complement(bits: int) -> None:
    values, flags = bit_flags(bits, "correct")
    assert torch.equal(flags, (values <= 0).double())
    values, flags = bit_flags(bits, "printed")
    assert (flags != (values <= 0).double()).all()


def test_flag_of_integers() -> None:
    rows = Rows(value=1, flag=1, indicator=1)
    layer = Layer(rows, "flag")
    flag_of_integer(layer, 0, 1, 2)
    values = torch.arange(-9.0, 10.0, dtype=torch.float64)
    state = torch.stack([values, torch.zeros(19, dtype=torch.float64), torch.ones(19, dtype=torch.float64)], dim=1)
    assert torch.equal(rows.of(layer.dense.feed_forward(state), "flag")[:, 0], (values <= 0).double())


@pytest.mark.parametrize("corrected", [False, True])
def test_every_choice_of_the_next_counter(corrected: bool) -> None:
    rows = Rows(following=3, jump=3, counter=3, flag=1, indicator=1)
    layer = Layer(rows, "select")
    blocks = (rows["following"], rows["jump"], rows["counter"])
    select_counter(layer, *blocks, rows["flag"][0], rows["indicator"][0], corrected)
    codes = position_codes(8)
    for flag in (0.0, 1.0):
        state = torch.zeros(8, 8, rows.size, dtype=torch.float64)
        rows.of(state, "following")[:] = codes[:, None]
        rows.of(state, "jump")[:] = codes
        rows.of(state, "counter")[:] = codes[3]
        rows.of(state, "flag")[:] = flag
        rows.of(state, "indicator")[:] = 1
        noise = 0.1 * torch.rand(state.shape, generator=generator(0)) if corrected else 0.0
        noisy = state + noise
        rows.of(noisy, "indicator")[:] = 1
        chosen = rows.of(layer.dense.feed_forward(noisy), "counter")
        expected = codes.expand(8, 8, 3) if flag else codes[:, None].expand(8, 8, 3)
        torch.testing.assert_close(chosen, expected, rtol=0, atol=1e-12)
