"""The translation of Minsky machines to SUBLEQ (Algorithm 6), for all contents of registers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from attention_theory.certificates import Answer, Certificate, Control, certify, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers.machine.codes import address_bits
from attention_theory.looped_transformers.subleq.language import interpret
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.looped_transformers.subleq.minsky import (
    C_MINUS,
    C_PLUS,
    C_ZERO,
    FIRST_REGISTER,
    SPARE,
    Add,
    Sub,
    translate,
)
from attention_theory.validation import Form, require

#: One of each kind, with jumps back, to the next instruction and to the end; of two registers.
_CODE = (Add(0), Sub(0, 0), Sub(1, 3), Add(1), Sub(0, 5))

_BITS = 40  # of the interpreter's numbers where a counterexample is run


def certify_translation(form: Form = "correct") -> Certificate:
    """Algorithm 6: each translated instruction does what the Minsky machine's does, for all registers.

    The translated instructions are executed with integers that may be any: the registers from 0 on, and the spare cell
    whatever it holds. The five instructions of ``sub`` and the two that replace them are asked.

    Args:
        form: of the translation; ``printed`` is refuted.
    """
    answers = [ask_instruction(place, form, short) for short in (False, True) for place in range(len(_CODE))]
    return certify(
        "Each of five instructions of a Minsky machine is executed by its translation: the register, the place where "
        "it goes on, and but for the spare cell nothing else.",
        "two additions and three subtractions, which jump back, on and to the end; two registers from 0 on, without a "
        "bound, and every content of the spare cell",
        answers,
        Control.of("the operands in the other order", ask_instruction(0, "printed"), _run_first),
    )


def ask_instruction(
    place: int, form: Form = "correct", short: bool = False, bits: int | None = None, fits: bool = True
) -> Answer:
    """Ask whether the translation of one instruction does the same, for all registers.

    Args:
        place: of the instruction in the code.
        form, short: as in :func:`translate`.
        bits: of each integer; without it they have no bound.
        fits: with bits, whether a register that is added to is assumed to be below the largest integer.
    """
    made = translate(_CODE, [0, 0], form, short).code
    starts = _starts(short)
    names = [f"register {number}" for number in range(2)]
    new, value = (
        (z3.Int, z3.IntVal) if bits is None else (lambda n: z3.BitVec(n, bits), lambda n: z3.BitVecVal(n, bits))
    )
    memory: dict[int, Term] = {C_ZERO: value(0), C_MINUS: value(-1), C_PLUS: value(1), SPARE: new("spare")}
    registers = {FIRST_REGISTER + number: new(name) for number, name in enumerate(names)}
    instruction = _CODE[place]
    cell = FIRST_REGISTER + instruction.register
    here, after = registers[cell], starts[place + 1]
    claims = []
    for condition, counter, end in _walk(made, memory | registers, starts[place], {*starts}, []):
        if isinstance(instruction, Add):
            changed, goes_on = _wide(end[cell]) == _wide(here) + 1, z3.BoolVal(counter == after)
        else:
            changed = end[cell] == z3.If(here == 0, here, here - 1)
            goes_on = z3.If(here == 0, counter == starts[instruction.target], counter == after)
        kept = [end[other] == before for other, before in (memory | registers).items() if other not in (cell, SPARE)]
        claims.append(z3.Implies(z3.And(condition), z3.And(changed, goes_on, *kept)))
    ranges = [register >= 0 for register in registers.values()]
    if bits is not None and fits and isinstance(instruction, Add):
        ranges.append(here < 2 ** (bits - 1) - 1)
    return smt.prove(ranges, z3.And(claims), f"{instruction} at place {place}, {len(claims)} ways through it")


def _wide(integer: Term) -> Term:
    """An integer with room for one more bit."""
    return z3.SignExt(1, integer) if z3.is_bv(integer) else integer


def _starts(short: bool) -> list[int]:
    starts = [0]
    for instruction in _CODE:
        starts.append(starts[-1] + (1 if isinstance(instruction, Add) else 2 if short else 5))
    return starts


def _walk(
    made: Sequence[tuple[int, int, int]], memory: dict[int, Term], counter: int, ends: set[int], condition: list[Term]
) -> Iterator[tuple[list[Term], int, dict[int, Term]]]:
    """All ways through SUBLEQ instructions, up to the first place in ``ends``: condition, place and memory there."""
    a, b, target = made[counter]
    result = memory[b] - memory[a]
    for jumps, to in ((result <= 0, target), (z3.Not(result <= 0), counter + 1)):
        held = [*condition, jumps]
        if to in ends:
            yield held, to, memory | {b: result}
        elif len(held) < 6:  # five instructions at most
            yield from _walk(made, memory | {b: result}, to, ends, held)
        else:
            yield held, -1, memory | {b: result}


def _run_first(values: Counterexample) -> tuple[str, bool]:
    """The first instruction, an addition, from the cells of a counterexample, in the other order of operands."""
    registers = [int(values.get(f"register {number}", 0)) for number in range(2)]
    source = translate(_CODE, registers, "printed")
    memory = list(source.memory)
    memory[SPARE] = int(values.get("spare", 0))
    left = interpret(replace(source, memory=tuple(memory)), _BITS, _starts(short=False)[1]).memories[-1].tolist()
    right = [registers[0] + 1, registers[1]]
    seen = left[FIRST_REGISTER : FIRST_REGISTER + 2]
    return f"{_CODE[0]} makes registers {seen}, and not {right}, of {registers}", seen != right


def certify_bounded_registers(bits: int = 16) -> Certificate:
    """Appendix H with integers of N bits: the translation is right as long as no register is to pass ``2**(N-1) - 1``.

    Raises:
        ParameterError: bits outside 4 to 32.
    """
    require(bits=(bits, 4, 32))

    def run(values: Counterexample) -> tuple[str, bool]:
        registers = [int(values.get(f"register {number}", 0)) for number in range(2)]
        source = translate([Add(0)], registers)
        machine = SubleqMachine(address_bits(source.columns()), bits)
        state = machine.cycle(machine.load(source), 1.0, "hardmax")
        seen = int(machine.memory(state, source)[FIRST_REGISTER])
        return f"in {bits} bits {registers[0]} + 1 is {seen} in the machine", seen != registers[0] + 1

    return certify(
        "In N bits each of five instructions of a Minsky machine is executed by its translation of five lines as "
        "long as its registers fit.",
        f"N = {bits}, all registers from 0 to 2^(N-1) - 1, of which none is to be added to at the upper end",
        [ask_instruction(place, bits=bits) for place in range(len(_CODE))],
        Control.of("a register may be at the upper end", ask_instruction(0, bits=bits, fits=False), run),
    )
