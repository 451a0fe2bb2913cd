import torch

from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.fleq._steps import _route_to_block
from attention_theory.looped_transformers.fleq.layout import FleqLayout

LAYOUT = FleqLayout(2, 12, 8, [SumBlock("add")], inverse_temperature=30.0)


def test_the_counter_is_rounded_on_the_way_to_a_block() -> None:
    state = torch.zeros(LAYOUT.columns, LAYOUT.rows.size, dtype=torch.float64)
    counter = LAYOUT.codes[LAYOUT.first_instruction + 1]
    LAYOUT.rows.view(state, "counter")[0] = 0.9 * counter
    after = _route_to_block(LAYOUT, 100.0).dense.feed_forward(state)
    torch.testing.assert_close(LAYOUT.rows.view(after, "counter")[0], counter, rtol=0, atol=1e-14)
