"""The inverse temperatures at which a machine is exact (Appendix G, Step 6, and what it leaves out)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.subleq.conformance import Executor, conformance
from attention_theory.looped_transformers.subleq.language import SubleqProgram, interpret
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.validation import refuse_unless, require


def least_inverse_temperature(
    machine: SubleqMachine,
    programs: Sequence[SubleqProgram],
    steps: int,
    by: Executor = "runner",
    low: float = 0.5,
    high: float = 20.0,
    stride: float = 0.5,
    resolution: float = 0.05,
) -> float:
    """The least inverse temperature from which on every step of every program is right.

    Success is not monotone, since rounding may turn the sign of the noise. So the search comes down from above in
    strides to the first that fails, and bisects the last stride.

    Args:
        machine: any of the three; float32 needs the literal layers.
        programs: of one shape. Include subtractions of 0: they are the hardest.
        steps: at most so many of each program.
        by: how the machine is run, as in :func:`conformance`.
        low: where the search ends.
        high: where it begins. In float64 no noise is left at 20.
        stride: of the search.
        resolution: the bisection stops at an interval of this length.

    Returns:
        The upper end of the last interval, or infinity if ``high`` does not do.

    Raises:
        ParameterError: an interval that is empty, or a stride or resolution that is not positive.
    """
    require(low=(low, 0.0, None), stride=(stride, 1e-3, None), resolution=(resolution, 1e-6, None))
    require(high=(high, low, None))

    def fails(inverse_temperature: float) -> bool:
        return conformance(machine, programs, steps, inverse_temperature, by=by).wrong > 0

    works = math.inf
    inverse_temperature = high
    while inverse_temperature > low and not fails(inverse_temperature):
        works, inverse_temperature = inverse_temperature, inverse_temperature - stride
    if math.isinf(works) or inverse_temperature <= low:
        return works
    while works - inverse_temperature > resolution:
        middle = (inverse_temperature + works) / 2
        inverse_temperature, works = (middle, works) if fails(middle) else (inverse_temperature, middle)
    return works


def inverse_temperature_law(bits: int, address_bits: int, adders: int = 1) -> float:
    """The inverse temperature at which the noise of a look-up, multiplied by adders of ``bits`` bits, reaches the
    correction's margin of 1/4.

    A bit that is read is wrong by about ``2 L exp(-2 λ)``, adders multiply it by ``2 * 2**(adders N)`` at most, and
    ``2 * 2**(adders N) 2 L exp(-2 λ) = 1/4`` gives ``λ = (adders N ln 2 + ln(16 L)) / 2``.

    Raises:
        ParameterError: bits below 1, or adders other than 1 and 2.
    """
    require(bits=(bits, 1, None), address_bits=(address_bits, 1, None), adders=(adders, 1, 2))
    return (adders * bits * math.log(2) + math.log(16 * address_bits)) / 2


def noise_bound(bits: int, address_bits: int, depth: Depth, inverse_temperature: float) -> float:
    """The most by which any entry can be off before the last layer, if the cycle began in an exact state.

    With ``x = exp(-2 λ)``, in exact arithmetic: ``9 * 4**N λ L² x`` for ten layers, which add twice in a row,
    ``21 * 2**N λ L² x`` for six, and ``25 (2**N L + λ L²) x`` for four, whose look-ups have no ties before they add.
    The bounds are proved where they are at most 1/4 (the page on Appendix G, Step 6), with one scratchpad column and
    λ from 1 on: ``λ x`` is small near λ = 0 too, where nothing is read.

    Raises:
        ParameterError: bits or address bits below 2, another depth, or an inverse temperature below 1.
    """
    require(bits=(bits, 2, None), address_bits=(address_bits, 2, None), depth=(depth, {10, 6, 4}))
    require(inverse_temperature=(inverse_temperature, 1.0, None))
    tied = inverse_temperature * address_bits**2
    gain = {10: 9 * 4.0**bits * tied, 6: 21 * 2.0**bits * tied, 4: 25 * (2.0**bits * address_bits + tied)}[depth]
    return gain * math.exp(-2 * inverse_temperature)


def sufficient_inverse_temperature(bits: int, address_bits: int, depth: Depth | Literal[1] | None = None) -> float:
    """The inverse temperature from which on a machine is proved to be right in every cycle, in steps of a hundredth.

    Args:
        bits: N.
        address_bits: L.
        depth: from there on :func:`noise_bound` is at most 1/4, the margin of the correction (Appendix G, Step 6).
            With one layer, ``exp(2 λ)`` is at least ``11 * 2**N (L + 1)`` (the page on one layer).
            Without a depth the machine keeps integers in real rows that are rounded: then λ is at least 1 and
            ``2 λ - ln(λ L)`` at least ``(N + L + 6) ln 2`` (the page on Lemma 1).

    Raises:
        ParameterError: bits or address bits below 2, or another depth.
    """
    require(bits=(bits, 2, None), address_bits=(address_bits, 2, None))
    needed = (bits + address_bits + 6) * math.log(2)

    def is_enough(inverse_temperature: float) -> bool:
        if depth is None:
            return 2 * inverse_temperature - math.log(inverse_temperature * address_bits) >= needed
        if depth == 1:
            return 2 * inverse_temperature >= math.log(11 * 2**bits * (address_bits + 1))
        return noise_bound(bits, address_bits, depth, inverse_temperature) <= 0.25

    hundredths = 100  # all conditions are for λ >= 1, and the noise falls from there on
    while not is_enough(hundredths / 100):
        hundredths += 1
    return hundredths / 100


def noise_before_correction(
    machine: SubleqMachine, source: SubleqProgram, inverse_temperature: float, steps: int
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
            state = layer(state, inverse_temperature)
        found.append((state - state.round().clamp(-1, 1)).abs().max())
        state = machine.dense[-1](state, inverse_temperature).round()
    return torch.stack(found)


@dataclass(frozen=True)
class _Followed:
    """A long run beside the interpreter.

    Attributes:
        first_wrong: the first cycle after which the counter or an integer is wrong, counted from 1; ``None`` if none.
        off: the largest distance of a memory entry from the integer it should be, in the cycles before that.
    """

    first_wrong: int | None
    off: float


def follow(machine: SubleqMachine, source: SubleqProgram, inverse_temperature: float, cycles: int) -> _Followed:
    """Run a program for many cycles on the literal layers, and say when it goes wrong, and how far off it was.

    Args:
        machine: with real rows.
        source: a program that does not halt within ``cycles``, or the run ends with it.
        inverse_temperature: of the softmax.
        cycles: at least 1.

    Raises:
        ParameterError: cycles below 1, or a machine that keeps integers as bits.
    """
    require(cycles=(cycles, 1, None))
    refuse_unless(machine.real, "machine must keep integers as numbers (real=True), got one that keeps bits")
    run, state, off = interpret(source, machine.bits, cycles), machine.load(source), 0.0
    cells = slice(machine.scratch, machine.scratch + len(source.memory))
    for cycle, (counter, memory) in enumerate(zip(run.counters, run.memories, strict=True), start=1):
        state = machine.cycle(state, inverse_temperature)
        right = torch.equal(machine.memory(state, source), memory) and machine.counter(state, source) == counter
        if not right:
            return _Followed(cycle, off)
        off = max(off, (machine.rows.view(state, "memory")[cells, 0] - memory).abs().max().item())
    return _Followed(None, off)
