import pytest
import torch

from attention_theory.looped_transformers.machine.access import GATE, accept_read, accept_write, fetch
from attention_theory.looped_transformers.machine.codes import position_codes
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.randomness import generator
from attention_theory.rows import Rows
from attention_theory.validation import Form


def set_up() -> tuple[Rows, torch.Tensor]:
    """Column 0 points at column 5."""
    width, columns = 4, 8
    rows = Rows(memory=width, scratch=width, pointer=3, encoding=3, buffer=width, indicator=1)
    state = torch.zeros(columns, rows.size, dtype=torch.float64)
    signs = torch.randint(0, 2, (columns, width), generator=generator(0)) * 2.0 - 1
    rows.of(state, "memory")[1:] = signs[1:]
    rows.of(state, "scratch")[0] = torch.tensor([1.0, -1.0, 1.0, 1.0])
    rows.of(state, "memory")[5] = torch.tensor([-1.0, 1.0, 1.0, -1.0])
    rows.of(state, "encoding")[1:] = position_codes(columns)[1:]
    rows.of(state, "pointer")[0] = position_codes(columns)[5]
    rows.of(state, "indicator")[0] = 1
    return rows, state


def access(rows: Rows, kind: str, gate: float = GATE, form: Form = "correct") -> Layer:
    layer = Layer(rows, kind)
    blocks = [rows[name] for name in ("pointer", "encoding", "memory", "scratch", "buffer")]
    fetch(layer, kind, *blocks)
    if kind == "read":
        accept_read(layer, rows["scratch"], rows["buffer"], rows["indicator"][0], gate)
    else:
        accept_write(layer, rows["memory"], rows["buffer"], rows["indicator"][0], gate, form)
    return layer


@pytest.mark.parametrize("rule", ["hardmax", "softmax"])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_one_block_of_one_column_changes(kind: str, rule: str) -> None:
    rows, state = set_up()
    expected = state.clone()
    if kind == "read":
        rows.of(expected, "scratch")[0] = rows.of(state, "memory")[5]
    else:
        rows.of(expected, "memory")[5] = rows.of(state, "scratch")[0]
    after = access(rows, kind).dense(state, 40.0, rule)  # type: ignore[arg-type]
    assert torch.equal(after, expected)


def test_the_printed_write_and_a_weak_gate_go_wrong() -> None:
    rows, state = set_up()
    right = access(rows, "write").dense(state, 40.0)
    assert not torch.equal(access(rows, "write", form="printed").dense(state, 40.0), right)
    assert not torch.equal(access(rows, "write", gate=1.0).dense(state, 40.0), right)
    assert torch.equal(access(rows, "write", gate=2.0).dense(state, 40.0), right)
