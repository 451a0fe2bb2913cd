"""The temperatures at which a machine is exact (Appendix G, Step 6, and what it leaves out)."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.language import SubleqProgram, interpret
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.validation import require


def least_temperature(
    machine: SubleqMachine,
    programs: Sequence[SubleqProgram],
    steps: int,
    dense: bool = False,
    low: float = 0.5,
    high: float = 20.0,
    stride: float = 0.5,
    resolution: float = 0.05,
) -> float:
    """The least temperature from which on every step of every program is right.

    Success is not monotone: a machine with two adders in a row may be exact at some temperature, fail at a higher one,
    where rounding turns the sign of the noise, and be exact again. So the search comes down from above in strides to
    the first temperature that fails, and bisects the last stride.

    Args:
        machine: any of the three; one in float32 needs ``dense``.
        programs: of one shape. Include subtractions of 0: they are the hardest.
        steps: at most so many of each program.
        dense: run the literal layers.
        low: where the search ends.
        high: where it begins. In float64 no noise is left at 20.
        stride: of the search.
        resolution: the bisection stops at an interval of this length.

    Returns:
        The upper end of the last interval, or infinity if ``high`` does not do.

    Raises:
        ParameterError: an interval that is empty, or a stride or resolution that is not positive.
    """
    require(low=(low, 0.0, high), high=(high, low, None), stride=(stride, 1e-3, None))
    require(resolution=(resolution, 1e-6, None))

    def fails(temperature: float) -> bool:
        return conformance(machine, programs, steps, temperature, dense=dense).wrong > 0

    works = math.inf
    temperature = high
    while temperature > low and not fails(temperature):
        works, temperature = temperature, temperature - stride
    if math.isinf(works) or temperature <= low:
        return works
    while works - temperature > resolution:
        middle = (temperature + works) / 2
        temperature, works = (middle, works) if fails(middle) else (temperature, middle)
    return works


def temperature_law(bits: int, address_bits: int, adders: int = 1) -> float:
    """Where the noise of a look-up, multiplied by adders of ``bits`` bits, reaches the correction's margin of 1/4.

    A bit that is read is wrong by about ``2 L exp(-2 λ)``, adders multiply it by ``2 * 2**(adders N)`` at most, and
    ``2 * 2**(adders N) 2 L exp(-2 λ) = 1/4`` gives ``λ = (adders N ln 2 + ln(16 L)) / 2``.

    Raises:
        ParameterError: bits below 1, or adders other than 1 and 2.
    """
    require(bits=(bits, 1, None), address_bits=(address_bits, 1, None), adders=(adders, 1, 2))
    return (adders * bits * math.log(2) + math.log(16 * address_bits)) / 2


def noise_before_correction(
    machine: SubleqMachine, source: SubleqProgram, temperature: float, steps: int
) -> Float[Tensor, " steps"]:
    """The largest distance of any entry from -1, 0 and 1 before the last layer, in each of ``steps`` cycles.

    Every cycle starts from the exact state, so that one cycle's noise is seen and not what is left of others.

    Raises:
        ParameterError: steps below 1.
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
