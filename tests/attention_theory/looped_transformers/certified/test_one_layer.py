import pytest
import torch

from attention_theory.looped_transformers.certified.one_layer import CASES, Case, ask_case, certify_one_layer, scene
from attention_theory.looped_transformers.certified.subleq_cycle import state_of
from attention_theory.looped_transformers.subleq.language import program
from attention_theory.looped_transformers.subleq.one_layer import OneLayerMachine


@pytest.mark.parametrize("case", [CASES[2], CASES[8]], ids=str)
def test_a_cycle_is_right_where_an_operand_is_pending(case: Case) -> None:
    assert ask_case(OneLayerMachine(3, 3), case).outcome == "proved"


@pytest.mark.exhaustive
@pytest.mark.parametrize("inverse_temperature", [None, 5.0])
def test_a_cycle_is_right_and_reading_a_cell_too_early_is_not(inverse_temperature: float | None) -> None:
    certificate = certify_one_layer(OneLayerMachine(3, 4), inverse_temperature)
    assert certificate.settled
    assert certificate.control.failed


@pytest.mark.parametrize("inverse_temperature", [4.5, 2.0])
def test_the_noise_is_removed_from_some_temperature_on(inverse_temperature: float) -> None:
    outcome = ask_case(OneLayerMachine(3, 2), CASES[0], inverse_temperature).outcome
    assert (outcome == "proved") == (inverse_temperature > 4)


def test_the_columns_are_those_of_a_loaded_program() -> None:
    """After the first instruction the first operand of the second one is pending: the cycle is that of the case."""
    machine = OneLayerMachine(4, 4)
    now = scene(machine, next(case for case in CASES if case.first and not case.second and not case.jumps))
    source = program([3, 7, -6], [(2, 3, 2), (3, 4, 0), (0, 2, 2)])
    before = machine.cycle(machine.load(source), 1.0, "hardmax")
    commands, first = machine.commands(source), machine.cells(4, 5).start
    values = {"w": 4, "b": 5, "cell": 3, "place": 6, "other a": commands[0][2], "other b": commands[0][4]}
    values |= {"pending": 4, "mem[w]": 7, "mem[b]": -6 % 16, "mem[cell]": 3}
    for kind, column in (("next", 1), ("rest", 1 + len(source.code))):
        values |= {f"{kind} {k}": address for k, address in enumerate(commands[column])}
    words = now.words.at(values)
    columns = [column for role in range(4) for column in (role, *(4 + 5 * role + cell for cell in (3, 4, 2)))]
    columns += [first + 1, first + 1 + len(source.code)]
    for state, made in ((before, now.before), (machine.cycle(before, 1.0, "hardmax"), now.after)):
        assert torch.equal(state[columns], state_of(machine, made, words)[: len(columns)])
