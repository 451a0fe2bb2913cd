import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.fleq._steps import _add_to_address, _route_to_block
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.randomness import generator

LAYOUT = FleqLayout(2, 12, 8, [SumBlock("add")], inverse_temperature=30.0)


@pytest.mark.parametrize("with_column", [True, False])
@given(constant=st.integers(-20, 20), seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_addresses_are_added_modulo_a_power_of_two(with_column: bool, constant: int, seed: int) -> None:
    rows, scratch = LAYOUT.rows, LAYOUT.scratch
    layer = Layer(rows, "add")
    _add_to_address(layer, LAYOUT, rows["to a"], rows["scratch address"] if with_column else None, constant)
    addresses = torch.randint(2**LAYOUT.bits, (scratch,), generator=generator(seed))
    state = torch.zeros(LAYOUT.columns, rows.size, dtype=torch.float64)
    rows.view(state, "to a")[:scratch] = LAYOUT.codes[addresses]
    rows.view(state, "to a")[scratch:] = 0.3
    rows.view(state, "scratch address")[:scratch] = LAYOUT.codes[:scratch]
    rows.view(state, "scratch")[:scratch] = 1
    rows.view(state, "not scratch")[scratch:] = 1
    after = rows.view(layer.dense.feed_forward(state), "to a")
    wanted = addresses + constant + (torch.arange(scratch) if with_column else 0)
    assert torch.equal(after[:scratch], LAYOUT.codes[wanted % 2**LAYOUT.bits])
    assert after[scratch:].count_nonzero() == 0


def test_the_counter_is_rounded_on_the_way_to_a_block() -> None:
    state = torch.zeros(LAYOUT.columns, LAYOUT.rows.size, dtype=torch.float64)
    counter = LAYOUT.codes[LAYOUT.first_instruction + 1]
    LAYOUT.rows.view(state, "counter")[0] = 0.9 * counter
    after = _route_to_block(LAYOUT, 100.0).dense.feed_forward(state)
    torch.testing.assert_close(LAYOUT.rows.view(after, "counter")[0], counter, rtol=0, atol=1e-14)
