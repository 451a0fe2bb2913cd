"""The error of a look-up by softmax, from the scores of the machine's own head, with proven bounds."""

from fractions import Fraction

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, balls, certify
from attention_theory.certificates.certificate import Counterexample
from attention_theory.looped_transformers.machine.codes import position_codes
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.validation import refuse_unless, require

#: Step 6 of Appendix G removes noise up to this.
MARGIN = Fraction(1, 4)


def certify_look_up(machine: SubleqMachine, inverse_temperature: float) -> Certificate:
    """Appendix G: at this inverse temperature a read from an exact state is off by less than the ramps remove.

    The bits of a column are ±1, so a read is off by at most twice the weight of all other columns. That is largest
    where every address has a column. It is about one read: what later layers make of its error is not part of it.

    Args:
        machine: of four layers, whose first head reads the instruction.
        inverse_temperature: the paper's λ.

    Raises:
        ParameterError: another machine, or a negative temperature.
    """
    require(inverse_temperature=(inverse_temperature, 0.0, None))
    refuse_unless(
        len(machine.dense) == 4 and not machine.real,
        f"machine must keep bits in rows and have 4 layers, got real={machine.real}, {len(machine.dense)} layers",
    )
    addresses, hot = range(1, 2**machine.address_bits), 0.25

    def run(values: Counterexample) -> tuple[str, bool]:
        off = read_error(machine, hot, 1)
        return f"at inverse temperature {hot} a bit that is read is off by {off:.3f}", off > MARGIN

    return certify(
        "A read of the instruction is off by less than 1/4 in every bit, for every counter and any columns.",
        f"λ = {inverse_temperature}, up to {2**machine.address_bits} columns, exact state",
        [ask_look_up(machine, inverse_temperature, address) for address in addresses],
        Control.of(f"inverse temperature {hot}", ask_look_up(machine, hot, 1), run),
    )


def ask_look_up(machine: SubleqMachine, inverse_temperature: float, address: int) -> Answer:
    """Whether twice the weight of all columns but the right one is below the margin, by balls."""
    head, state = machine.dense[0].heads[0], _full_state(machine, address)
    scores = (state @ head.key.mT) @ (head.query @ state[0])
    weights = balls.softmax([balls.ball(inverse_temperature) * balls.ball(score) for score in scores.tolist()])
    return balls.below(2 * (1 - weights[address]), MARGIN, f"twice the weight of all but column {address}")


def read_error(machine: SubleqMachine, inverse_temperature: float, address: int) -> float:
    """How far off the machine's own layer reads a bit that is 1 in one column and -1 in all others."""
    state = _full_state(machine, address)
    machine.rows.of(state, "command")[1:] = -1
    machine.rows.of(state, "command")[address] = 1
    read = machine.dense[0].attend(state, inverse_temperature)
    return (machine.rows.of(read, "instruction")[0] - 1).abs().max().item()


def _full_state(machine: SubleqMachine, address: int) -> Tensor:
    """The scratchpad with this counter, and a column for every address."""
    codes = position_codes(2**machine.address_bits, machine.address_bits)
    state = torch.zeros(len(codes), machine.rows.size, dtype=torch.float64)
    machine.rows.of(state, "encoding")[1:] = codes[1:]
    machine.rows.of(state, "indicator")[0] = 1
    machine.rows.of(state, "idle")[1:] = 1
    machine.rows.of(state, "counter")[0] = codes[address]
    return state
