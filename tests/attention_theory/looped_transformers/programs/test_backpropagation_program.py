import pytest
import torch
from torch import Tensor

from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.programs.backpropagation import SigmoidNetwork
from attention_theory.looped_transformers.programs.backpropagation_program import (
    PLACES,
    listing_program,
    machine_program,
    read_network,
)
from attention_theory.randomness import normal
from attention_theory.validation import ParameterError


def small_training() -> tuple[SigmoidNetwork, Tensor, Tensor]:
    return SigmoidNetwork.random(4, 4, 1), normal(2, 4, seed=0), normal(2, seed=3)


def test_the_gradient_is_the_derivative() -> None:
    network, x, y = small_training()
    leaves = [part.clone().requires_grad_() for part in vars(network).values()]
    automatic = torch.autograd.grad(SigmoidNetwork(*leaves).loss(x[0], y[0].item()), leaves)
    assert SigmoidNetwork(*automatic).distance(network.gradient(x[0], y[0].item())) < 1e-14


def test_both_training_programs_equal_the_plain_training() -> None:
    network, x, y = small_training()
    expected = network.train(x, y, 0.2, 2)[-1]
    for program in (listing_program(network, x, y, 0.2, 2), machine_program(network, x, y, 0.2, 2)):
        assert read_network(program, interpret(program).memory).distance(expected) < 1e-13


@pytest.mark.parametrize(("hidden", "inputs"), [(3, 5), (5, 3), (1, 2), (4, 1)])
def test_hidden_units_and_inputs_may_differ_in_number(hidden: int, inputs: int) -> None:
    network, x, y = SigmoidNetwork.random(hidden, inputs, 1), normal(2, inputs, seed=0), normal(2, seed=3)
    expected = network.train(x, y, 0.2, 2)[-1]
    programs = [machine_program(network, x, y, 0.2, 2)]
    if hidden >= inputs:
        programs.append(listing_program(network, x, y, 0.2, 2))
    for program in programs:
        assert read_network(program, interpret(program).memory, hidden, inputs).distance(expected) < 1e-13


def test_the_listing_needs_a_hidden_unit_for_each_input() -> None:
    with pytest.raises(ParameterError, match="a hidden unit for each of 3 inputs"):
        listing_program(SigmoidNetwork.random(2, 3, 1), normal(2, 3, seed=0), normal(2, seed=3), 0.2)


@pytest.mark.parametrize("place", PLACES)
def test_every_printed_place_shows(place: str) -> None:
    network, x, y = small_training()
    program = listing_program(network, x, y, 0.2, 2, {place: "printed"})
    run = interpret(program, 1_000)
    assert not run.halted or read_network(program, run.memory).distance(network.train(x, y, 0.2, 2)[-1]) > 1e-2


def test_the_repaired_listing_runs_in_the_machine() -> None:
    network, x, y = SigmoidNetwork.random(3, 3, 1), normal(2, 3, seed=0), normal(2, seed=3)
    program = listing_program(network, x, y, 0.2, 2)
    assert len(program.code) == 46
    reference = interpret(program)
    run = FleqMachine(program).run(program, len(reference.counters))
    result = compare(run, reference)
    assert result.counters_agree
    assert result.pointers_agree
    assert read_network(program, run.memory).distance(network.train(x, y, 0.2, 2)[-1]) < 5e-6
