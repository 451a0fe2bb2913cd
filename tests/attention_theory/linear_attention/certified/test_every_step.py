import pytest

from attention_theory.linear_attention.certified.every_step import certify_every_step
from attention_theory.linear_attention.machines.compact import CompactMachine


@pytest.mark.parametrize("stays", [False, True], ids=["lost at the left end", "stays at the left end"])
@pytest.mark.parametrize(("states", "letters", "cells"), [(1, 2, 2), (2, 1, 2)])
def test_every_step_is_right(states: int, letters: int, cells: int, stays: bool) -> None:
    certificate = certify_every_step(CompactMachine(states, letters, 2, 2, stays=stays), cells)
    assert certificate.settled, certificate.control
