import json

import pytest
import torch

from attention_theory.linear_attention.export import EXPORTS
from attention_theory.linear_attention.machines.block_heads import dense
from attention_theory.linear_attention.machines.compact import CompactMachine


@pytest.mark.parametrize("edge", ["lost", "stays"])
def test_the_file_holds_the_matrices_of_every_head(edge: str) -> None:
    machine = CompactMachine(3, 2, 4, 5, stays=edge == "stays")
    written = json.loads(EXPORTS["turing"](3, 2, 4, 5, edge)[".json"]())
    assert written["width"] == machine.width
    assert {name: range(*ends) for name, ends in written["rows"].items()} == machine.rows.blocks
    heads = dense(machine.heads, machine.width)
    for name, matrices in (("Q", heads.queries), ("V", heads.values)):
        ours = torch.zeros_like(matrices)
        for number, head in enumerate(written["heads"]):
            for row, column, value in head[name]["entries"]:
                assert ours[number, row, column] == 0
                ours[number, row, column] = value
        assert torch.equal(ours, matrices)
