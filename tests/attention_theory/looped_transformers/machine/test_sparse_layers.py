import pytest
import torch

from attention_theory.looped_transformers.machine.sparse_layers import SparseLayers
from attention_theory.looped_transformers.subleq.language import interpret, random_program, wild_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.validation import ParameterError


@pytest.mark.parametrize("depth", [10, 6, 4])
def test_states_are_those_of_the_dense_layers_bit_for_bit(depth: int) -> None:
    machine = SubleqMachine(5, 8, depth)  # type: ignore[arg-type]
    wild = [wild_program(8, 12, 8, seed) for seed in range(40)]
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
        sparse = SparseLayers(machine, 2.0)
        for _ in range(2):  # the second cycle knows what the first has seen
            ours, theirs = sparse.cycle(state), machine.cycle(state, 2.0)
            assert (ours - theirs).abs().max() <= 1e-12 * theirs.abs().max()


def test_other_machines_are_refused() -> None:
    with pytest.raises(ParameterError, match="float64"):
        SparseLayers(SubleqMachine(4, 4, dtype=torch.float32), 30.0)
    with pytest.raises(ParameterError, match="temperature"):
        SparseLayers(SubleqMachine(4, 4), -1.0)
