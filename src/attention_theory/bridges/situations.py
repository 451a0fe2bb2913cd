"""A Turing machine's run as a list of situations, the result that every computer running it must give (Bridge 1)."""

from typing import NamedTuple

from jaxtyping import Int
from torch import Tensor

from attention_theory.linear_attention.machines.turing import Machine, simulate
from attention_theory.validation import ParameterError

#: States in which a machine stays for ever.
HALTING = ("accept", "reject")


class Situation(NamedTuple):
    """A machine before a step: its state, the cell of its head, and the letters on its tape.

    The cell is left open (``None``) once the machine has halted: a halted machine needs no head.
    """

    state: int
    head: int | None
    tape: tuple[int, ...]


def working_states(machine: Machine) -> list[int]:
    """The states in which a machine has something to do, in their order."""
    return [number for number, name in enumerate(machine.states) if name not in HALTING]


def situations(machine: Machine, tape: Int[Tensor, " cells"], head: int, steps: int) -> list[Situation]:
    """The reference: all situations of ``steps`` steps, the first one included, up to the first halting one.

    Raises:
        ParameterError: the head leaves the tape, or is not on it.
    """
    run = simulate(machine.table, tape, head, steps)
    working, nowhere, found = set(working_states(machine)), len(machine.states), []
    for letters, states in zip(run.letters.tolist(), run.states.tolist(), strict=True):
        places = [place for place, state in enumerate(states) if state != nowhere]
        if not places:
            raise ParameterError(f"the head leaves the tape of {len(tape)} cells within {steps} steps")
        state = states[places[0]]
        found.append(Situation(state, places[0] if state in working else None, tuple(letters)))
        if state not in working:
            break
    return found
