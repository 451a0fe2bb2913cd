import torch

from attention_theory.looped_transformers.certified.look_up import ask_look_up, read_error
from attention_theory.looped_transformers.subleq.machine import SubleqMachine


def test_the_certificate_fails_where_the_code_is_off_by_more() -> None:
    """Between temperatures at which the bound, which is attained, is below and above the margin."""
    machine = SubleqMachine(3, 3, 4)
    for inverse_temperature in (0.5, 1.0, 1.5, 2.0):
        proved = ask_look_up(machine, inverse_temperature, 3).outcome == "proved"
        assert proved == (read_error(machine, inverse_temperature, 3) < 0.25)


def test_keys_that_are_wrong_are_noticed() -> None:
    machine = SubleqMachine(3, 3, 4)
    machine.dense[0].heads[0].key[0] = 0
    assert ask_look_up(machine, 3.0, 3).outcome == "refuted"
    assert torch.tensor(read_error(SubleqMachine(3, 3, 4), 3.0, 3)) < 0.25
