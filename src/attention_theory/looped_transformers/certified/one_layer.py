"""A cycle of the one-layer SUBLEQ machine, for every instruction, every memory and every earlier result.

As in :mod:`subleq_cycle`, a cycle is followed on the columns that it can touch: the scratchpad, the columns of both
operands, of the pending result's cell and of one more cell, and those of two instructions. All other addresses that the
scratchpad holds may name any of these, or none.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from attention_theory.certificates import Answer, Certificate, Control, certify
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.looped_transformers.certified.columns import Column
from attention_theory.looped_transformers.certified.softmax_cycle import ask_softmax
from attention_theory.looped_transformers.certified.subleq_cycle import OTHERS, Scene, Stage, ask_scene, state_of
from attention_theory.looped_transformers.certified.words import ONE, AtMostZero, Linear, Row, Words
from attention_theory.looped_transformers.machine.codes import from_bits, to_bits
from attention_theory.looped_transformers.subleq.one_layer import PENDING, ROLES, OneLayerMachine
from attention_theory.validation import refuse_unless, require


@dataclass(frozen=True)
class Case:
    """A case: which operands are the pending result, and the other distinctions.

    Attributes:
        jumps: the flag from the cycle before.
        first: whether the first operand is the pending result.
        second: whether the second one is.
        same: whether both operands are one cell, which is not pending.
    """

    jumps: bool
    first: bool = False
    second: bool = False
    same: bool = False


CASES = tuple(
    Case(jumps, *operands)
    for jumps in (False, True)
    for operands in ((False, False), (False, False, True), (True, False), (False, True), (True, True))
)


def scene(machine: OneLayerMachine, case: Case, forwarded: bool = True, samples: int = 64) -> Scene:
    """The columns as :meth:`OneLayerMachine.load` makes them, and as a cycle should leave them.

    Args:
        machine: with at least 3 address bits.
        case: of operands and flag.
        forwarded: ``False`` gives the first operand's address where it should be that of the pending result; for a
            control, where it is pending.
        samples: the number of values by which bits are recognised.
    """
    words, draws, size = Words(), random.Random(0), machine.address_bits
    cells = ["w", "cell", "another cell"]
    cells += [name for name, used in (("a", not case.first), ("b", not (case.second or case.same))) if used]
    places = ["place", "instruction", "another instruction"]
    for names, least in ((cells, 1), (places, 0)):
        drawn = [draws.sample(range(least, 2**size), len(names)) for _ in range(samples)]
        for place, name in enumerate(names):
            words.add(name, size, [sample[place] for sample in drawn])
        words.given.append(z3.Distinct([words.term(name) for name in names]))
    words.given += [words.term(name) != PENDING for name in cells]
    for name in ("other a", "other b", *(f"{kind} {k}" for kind in ("next", "rest", "more") for k in range(6))):
        words.add(name, size, draws.choices(range(2**size), k=samples))
    for name in ("pending", "mem[a]", "mem[b]", "mem[w]", "mem[cell]"):
        words.add(name, machine.bits, draws.choices(range(2**machine.bits), k=samples))
    first, second = _operands(case)
    if first != second:  # a result of 0 is a case that must be seen
        words.samples[second][1::4] = words.samples[first][1::4]
    words.define("minus", machine.bits, Linear({first: -1}))
    words.define("result", machine.bits, Linear({second: 1, "minus": 1}))
    words.define("flag", 1, AtMostZero("result"))
    if not forwarded:
        words.define("minus mem[w]", machine.bits, Linear({"mem[w]": -1}))
        words.define("stale result", machine.bits, Linear({second: 1, "minus mem[w]": 1}))
        words.define("stale flag", 1, AtMostZero("stale result"))
    before, after = (_columns(machine, words, case, forwarded, done) for done in (False, True))
    return Scene(words, before, after, {name: f"another {name}" for name in before if name.split(",")[0] in OTHERS})


def _operands(case: Case) -> tuple[str, str]:
    """The integers of which the second less the first is taken."""
    first = "pending" if case.first else "mem[a]"
    return first, "pending" if case.second else first if case.same else "mem[b]"


def _columns(machine: OneLayerMachine, words: Words, case: Case, forwarded: bool, done: bool) -> dict[str, Column]:
    """Column by column the rows that are not zero, before or after the cycle."""
    rows, size, columns = machine.rows, machine.address_bits, dict[str, Column]()
    nothing: list[Row] = [{ONE: Fraction(int(bit))} for bit in to_bits(PENDING, size).tolist()]

    def bits(names: Sequence[str], sign: int = 1) -> list[Row]:
        rows = [bit for name in names for bit in (words.bits(name) if name else nothing)]
        return [{atom: sign * weight for atom, weight in row.items()} for row in rows]

    def filled(**blocks: list[Row] | int) -> Column:
        column: Column = {}
        for name, content in blocks.items():
            listed = [{ONE: Fraction(content)}] if isinstance(content, int) else content
            column |= dict(zip(rows[name], listed, strict=True))
        return column

    def encoded(part: int, name: str) -> Column:
        return dict(zip(rows["encoding"][part * size :], bits([name]), strict=False))

    first = "" if case.first and forwarded else "w" if case.first else "a"
    second = "" if case.second else "a" if case.same else "b"
    chosen = {("a", case.jumps): first, ("b", case.jumps): second}
    asked = [chosen.get(role, f"other {role[0]}") for role in ROLES]
    command = [f"next {k}" for k in range(6)] if done else ["w", *asked, "place"]
    flag: list[Row] | int = words.bits("flag") if done else 1 if case.jumps else -1
    held = {"w": "pending" if done else "mem[w]", "a": "mem[a]", "b": "mem[b]", "cell": "mem[cell]"}
    for number, (operand, jumps) in enumerate(ROLES):
        sign, role = 1 if operand == "b" else -1, f"{operand}, {'jump' if jumps else 'no jump'}"
        content = bits(["result" if done else "pending"], sign)
        columns[f"scratchpad, {role}"] = filled(command=bits(command), memory=content, flag=flag) | {
            rows["pending"][number]: {ONE: Fraction(1)}
        }
        for cell, integer in held.items():
            if cell in words.sizes:
                marks = {"operand": sign, "branch": 1 if jumps else -1}
                columns[f"{cell}, {role}"] = filled(memory=bits([integer], sign), **marks) | encoded(number, cell)
    for name, place, jumps, kind in (
        ("next", "place", case.jumps, "next"),
        ("not next", "place", not case.jumps, "rest"),
        ("instruction, no jump", "instruction", False, "more"),
        ("instruction, jump", "instruction", True, "more"),
    ):
        following = bits([f"{kind} {k}" for k in range(6)])
        columns[name] = filled(following=following, instruction=1, branch=1 if jumps else -1) | encoded(4, place)
    return columns


def ask_case(machine: OneLayerMachine, case: Case, inverse_temperature: float | None = None) -> Answer:
    """Ask whether a cycle is right in a case: with a hard maximum, and with a softmax where a temperature is given."""
    followed: list[Stage] = []
    exact = ask_scene(machine, scene(machine, case), followed)
    if inverse_temperature is None:
        return exact
    columns = (len(ROLES) + 2) * 2**machine.address_bits
    return ask_softmax(machine, inverse_temperature, exact, followed, columns)


def certify_one_layer(machine: OneLayerMachine, inverse_temperature: float | None = None) -> Certificate:
    """Beyond Lemma 1: a pass of one layer executes an instruction, for all instructions, memories and earlier results.

    Args:
        machine: with at least 3 address bits.
        inverse_temperature: of a softmax, which the certificate then covers too.

    Returns:
        The certificate. Its control reads the first operand from its cell although its value is still pending.

    Raises:
        ParameterError: fewer address bits, or a negative inverse temperature.
    """
    refuse_unless(machine.address_bits >= 3, f"machine must have at least 3 address bits, got {machine.address_bits}")
    if inverse_temperature is not None:
        require(inverse_temperature=(inverse_temperature, 0.0, None))
    stale = Case(jumps=False, first=True)

    def run(values: Counterexample) -> tuple[str, bool]:
        now, given = scene(machine, stale, forwarded=False), dict[str, int]()
        for field, value in values.items():  # bits start to stop - 1 of a word
            if found := re.fullmatch(r"(.+)\[(\d+):\d+\]", field):
                given[found[1]] = given.get(found[1], 0) + (int(value) << int(found[2]))
        words = now.words.at({name: value for name, value in given.items() if name not in now.words.definitions})
        left = machine.cycle(state_of(machine, now.before, words), 1.0, "hardmax")
        column = list(now.before).index("scratchpad, b, jump")
        seen, wanted = (
            from_bits(machine.rows.view(state, "memory")[column], signed=True).item()
            for state in (left, state_of(machine, now.after, words))
        )
        return f"the pending result is {seen} and should be {wanted}", seen != wanted

    rule = "a hard maximum" if inverse_temperature is None else f"a softmax at λ = {inverse_temperature}"
    return certify(
        f"One layer with one head and {rule} executes one SUBLEQ instruction: it writes the result of the "
        "instruction before, subtracts, sets the flag, keeps the new result, and fetches what follows, whatever the "
        "program, its memory and the earlier results; and it leaves a state of the same form. So every run from such a "
        "state is right; that loading a program writes such a state is tested, and not part of this certificate.",
        f"integers of {machine.bits} bits, any number of cells below {2**machine.address_bits} and of instructions up "
        f"to {2**machine.address_bits}; the operands in two cells or in the same cell, either or both of them pending, "
        "with or without a preceding jump",
        [ask_case(machine, case, inverse_temperature) for case in CASES],
        Control.of(
            "the first operand is read from its cell, while its value is pending",
            ask_scene(machine, scene(machine, stale, forwarded=False)),
            run,
        ),
    )
