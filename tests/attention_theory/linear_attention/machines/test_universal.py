import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attention_theory.linear_attention.machines.turing import Comparison, random_inputs, random_tables
from attention_theory.linear_attention.machines.universal import UniversalMachine


def compare(
    universal: UniversalMachine, machines: int, seed: int, dtype: torch.dtype = torch.int8
) -> tuple[Comparison, Tensor]:
    """How random machines run in the layer, and all tokens."""
    tables = random_tables(machines, universal.states, universal.letters, seed)
    inputs = random_inputs(machines, universal.letters, universal.window, seed + 1)
    return universal.compare(tables, *inputs, dtype)


@settings(max_examples=15)
@given(
    states=st.integers(1, 4),
    letters=st.integers(1, 3),
    window=st.integers(1, 5),
    steps=st.integers(1, 4),
    seed=st.integers(0, 999),
)
def test_every_machine_runs_exactly(states: int, letters: int, window: int, steps: int, seed: int) -> None:
    universal = UniversalMachine(states, letters, window, steps)
    assert universal.width == universal.width_formula(states, letters, window, steps)
    assert len(universal.heads) == universal.heads_formula(letters, window, steps)
    compared, history = compare(universal, 3, seed)
    assert compared.exact.all()
    assert set(history.unique().tolist()) <= {0, 1}


def test_working_rows_must_be_private() -> None:
    shared, _ = compare(UniversalMachine(2, 2, 4, 3, working_rows="shared"), 5, 0, torch.float64)
    assert shared.machines == 0


def test_an_empty_state_cannot_be_looked_up() -> None:
    """Read as no state, the printed form is right after the first step, and letters get lost from the second on."""
    printed, _ = compare(UniversalMachine(2, 2, 5, 3, form="printed"), 10, 0)
    assert printed.exact[:, :2].all()
    assert not printed.exact[:, 2].any()


def test_prompts_hold_table_and_tape() -> None:
    universal = UniversalMachine(3, 3, 4, 1)
    tables = random_tables(6, 3, 3, seed=2)
    tapes, places = random_inputs(6, 3, 4, seed=3)
    prompt = universal.embed(tables, tapes, places)
    assert torch.equal(universal.read_tables(prompt), tables)
    start = universal.read(prompt, 0)
    assert torch.equal(start.letters, tapes)
    assert torch.equal(start.states.argmin(dim=1), places)
