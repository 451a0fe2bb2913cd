import pytest

from attention_theory.looped_transformers.certified.softmax_cycle import (
    certify_softmax,
    follow,
    largest,
    noise_by_layer,
)
from attention_theory.looped_transformers.subleq.language import program
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.validation import ParameterError

#: By depth, an inverse temperature at which a small machine is exact.
ENOUGH: dict[Depth, float] = {4: 5.0, 6: 7.0, 10: 7.0}


@pytest.mark.parametrize("depth", ENOUGH)
def test_a_machine_with_a_softmax_is_exact_for_ever(depth: Depth) -> None:
    assert certify_softmax(SubleqMachine(3, 2, depth, rounded_reads=False), ENOUGH[depth]).settled


@pytest.mark.parametrize("depth", ENOUGH)
def test_the_noise_of_a_run_is_within_the_bound_behind_every_layer(depth: Depth) -> None:
    machine = SubleqMachine(3, 2, depth, rounded_reads=False)
    _, stages = follow(machine, same=False)
    exact = noisy = machine.load(program([-1, 0], [(0, 1, 0), (1, 0, 1)]))
    for layer, (_, fetched, left) in zip(machine.dense, noise_by_layer(machine, stages, ENOUGH[depth]), strict=True):
        attended, exactly = layer.attend(noisy, ENOUGH[depth]), layer.attend(exact, 1.0, "hardmax")
        assert (attended - exactly).abs().max() <= largest(fetched)
        noisy, exact = layer.feed_forward(attended), layer.feed_forward(exactly)
        assert (noisy - exact).abs().max() <= largest(left) + 1e-12


def test_a_machine_without_such_reads_is_refused() -> None:
    with pytest.raises(ParameterError, match="rounded_reads must be False"):
        SubleqMachine(3, 3, 4, rounded_reads=True)
