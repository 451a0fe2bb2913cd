"""The temperatures at which a machine is exact (Appendix G, Step 6, and what it leaves out)."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.conformance import conformance
from attention_theory.looped_transformers.subleq import Program, interpret
from attention_theory.looped_transformers.subleq_machine import SubleqMachine
from attention_theory.validation import require


def least_temperature(
    machine: SubleqMachine,
    programs: Sequence[Program],
    steps: int,
    dense: bool = False,
    low: float = 0.5,
    high: float = 40.0,
    resolution: float = 0.05,
) -> float:
    """The least temperature at which every step of every program is right, by bisection.

    Args:
        machine: any of the three; one in float32 needs ``dense``.
        programs: of one shape. Include subtractions of 0: they are the hardest.
        steps: at most so many of each program.
        dense: run the literal layers.
        low: a temperature that is too low.
        high: a temperature that should do.
        resolution: the bisection stops at an interval of this length.

    Returns:
        The upper end of the last interval, or infinity if ``high`` does not do.
    """
    require(low=(low, 0.0, high), high=(high, low, None), resolution=(resolution, 1e-6, None))
    if conformance(machine, programs, steps, high, dense=dense).wrong:
        return math.inf
    while high - low > resolution:
        middle = (low + high) / 2
        if conformance(machine, programs, steps, middle, dense=dense).wrong:
            low = middle
        else:
            high = middle
    return high


def temperature_law(bits: int, address_bits: int) -> float:
    """Where the noise of a look-up, multiplied by an adder of ``bits`` bits, reaches the correction's margin of 1/4.

    A bit that is read is wrong by about ``2 L exp(-2 λ)``, the adder multiplies it by ``2**(N+1)`` at most, and
    ``2**(N+1) 2 L exp(-2 λ) = 1/4`` gives ``λ = (N ln 2 + ln(16 L)) / 2``.
    """
    require(bits=(bits, 1, None), address_bits=(address_bits, 1, None))
    return (bits * math.log(2) + math.log(16 * address_bits)) / 2


def noise_before_correction(
    machine: SubleqMachine, source: Program, temperature: float, steps: int
) -> Float[Tensor, "steps"]:
    """The largest distance of any entry from -1, 0 and 1 before the last layer, in each of ``steps`` cycles.

    Every cycle starts from the exact state, so that one cycle's noise is seen and not what is left of others.
    """
    require(steps=(steps, 1, None))
    found = []
    state = machine.load(source)
    for _ in range(min(steps, max(1, len(interpret(source, machine.bits, steps))))):
        for layer in machine.dense[:-1]:
            state = layer(state, temperature)
        found.append((state - state.round().clamp(-1, 1)).abs().max())
        state = machine.dense[-1](state, temperature).round()
    return torch.stack(found)
