import pytest
import torch

from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.looped_transformers.machine.sparse_layers import SparseLayers
from attention_theory.looped_transformers.subleq.language import interpret, random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.rows import Rows


@pytest.mark.parametrize("depth", [10, 6, 4])
def test_states_are_those_of_the_dense_layers_bit_for_bit(depth: int) -> None:
    machine = SubleqMachine(5, 8, depth)  # type: ignore[arg-type]
    wild = [random_program(8, 12, 8, seed, wild=True) for seed in range(40)]
    going = [one for one in wild if not interpret(one, 8, 20).halted]  # the others may leave their program
    for programs in ([random_program(8, 12, 8, seed) for seed in range(20)], going):
        sparse = SparseLayers(machine, 30.0)
        ours = theirs = machine.load(programs)
        for _ in range(20):
            ours, theirs = sparse.cycle(ours), machine.cycle(theirs, 30.0)
            assert torch.equal(ours, theirs)
    one = theirs[0].clone()
    assert torch.equal(sparse.cycle(one), machine.cycle(one, 30.0))
    assert torch.equal(one, theirs[0])


@pytest.mark.parametrize("options", [{}, {"depth": 6}, {"depth": 4}, {"depth": 4, "real": True}, {"scratch": 2}])
def test_any_state_is_treated_as_the_layers_treat_it(options: dict[str, int]) -> None:
    """Entries that no program has: gates are open in all columns, and nothing may be left out."""
    machine = SubleqMachine(3, 4, **options)  # type: ignore[arg-type]
    draws = torch.Generator().manual_seed(0)
    for scale in (0.1, 1.0, 20.0):
        state = scale * torch.randn(3, 6, machine.rows.size, dtype=torch.float64, generator=draws)
        for scratch in (1, 2, 6):  # a wrong number of columns that change costs time and nothing else
            sparse = SparseLayers(machine, 2.0, scratch)
            for _ in range(2):  # the second cycle knows what the first has seen
                ours, theirs = sparse.cycle(state), machine.cycle(state, 2.0)
                assert (ours - theirs).abs().max() <= 1e-12 * theirs.abs().max()


def test_what_a_column_got_before_it_gets_again_only_if_it_reads_the_same() -> None:
    """Units that read other rows than they write: one column of one program is changed, then all are put back."""
    draws = torch.Generator().manual_seed(0)
    rows = Rows(read=2, written=1)
    layer = Layer(rows, "products of signs")
    layer.unit("one", {0: 1.0, 1: -2.0}, {2: 3.0}, bias=0.5)
    layer.unit("other", {0: -1.0}, {2: -1.0}, bias=-0.25)
    layer.constant({2: 0.125})
    machine = LoopedTransformer(rows, [layer])
    state = torch.randn(2, 5, 3, dtype=torch.float64, generator=draws)
    changed = state.clone()
    changed[1, 3, 0] = 7.0
    alike = state.clone()
    alike[:, 1:] = state[0, 0]
    sparse = SparseLayers(machine, 1.0)
    for one in (state, changed, state, alike, changed, state[:1], torch.zeros_like(state)):
        torch.testing.assert_close(sparse.cycle(one), machine.cycle(one, 1.0), rtol=0, atol=1e-14)
