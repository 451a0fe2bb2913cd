"""From a Turing machine to a FLEQ program: the head is an address that the program changes in itself (Bridge 1).

Two instructions of the program look at the tape, one that reads and one that writes. A step of the machine moves the
address in both. So the program is as long as the machine's table, whatever the length of the tape.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.bridges.situations import Situation, working_states
from attention_theory.linear_attention.machines.turing import MOVES, Machine
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram, FleqRun, PointerMove, addresses
from attention_theory.validation import require

#: The width of a memory cell, the least that the FLEQ machine takes; only first entries are used.
_SIZE = 2


@dataclass(frozen=True)
class _FleqTape:
    """A machine on a tape of fixed length as a FLEQ program.

    Attributes:
        source: the program.
        numbers: the machine's state for each number that stands for one in the program.
        working: how many of them do not halt.
        cells: the length of the tape.
        letters: of the alphabet.
    """

    source: FleqProgram
    numbers: Mapping[int, int]
    working: int
    cells: int
    letters: int

    def situations(self, run: FleqRun) -> list[Situation]:
        """The situations of a run: one whenever a step of the machine begins, the start included."""
        start = (0, self.source.memory, addresses(self.source.code, len(self.source.memory)))
        after = zip(run.counters, run.memories, run.pointers, strict=True)
        return [self._read(memory, pointers) for counter, memory, pointers in (start, *after) if counter == 0]

    def _read(self, memory: Float[Tensor, "cells d"], pointers: Int[Tensor, "instructions 3"]) -> Situation:
        first, named = self.source.addresses["tape"], self.source.addresses
        tape = memory[first : first + self.cells, 0].round().long().tolist()
        number = round(memory[named["s"], 0].item() / self.letters)
        head = int(pointers[self.source.labels["read"], 0]) - first
        state = self.numbers.get(number, -1)
        return Situation(state, head if number < self.working else None, tuple(tape))


def fleq_of(machine: Machine, tape: Int[Tensor, " cells"], head: int) -> _FleqTape:
    """The program that does what the machine does, as long as its head stays on the tape.

    The number ``u`` of state and letter together finds the rule by halving; the rule sets letter, state and move; the
    letter is written, and the move changes the two addresses. A step takes at most ``log2(states * letters + 1) + 9``
    instructions, the logarithm rounded up.

    Raises:
        ParameterError: a head off the tape.
    """
    require(head=(head, 0, len(tape) - 1))
    letters, working = len(machine.letters), working_states(machine)
    order = [*working, *(state for state in range(len(machine.states)) if state not in working)]
    number = {state: place for place, state in enumerate(order)}
    most = max(2, letters * (len(order) - 1), letters * len(working) - 1)
    constants = {f"n{value}": float(value) for value in range(most + 1)}
    named = {**constants, "s": 0.0, "u": 0.0, "t": 0.0, "v": 0.0, "m": 0.0}
    variables: dict[str, float | Tensor] = {**named, "tape": tape[None].to(torch.float64)}
    columns = dict.fromkeys(["one", "zero", "junk", *named], 1) | {"tape": len(tape)}
    rules = []
    for state, letter in ((state, letter) for state in working for letter in range(letters)):
        next_state, written, move = machine.table[state, letter].tolist()
        rules.append((written, letters * number[next_state], "LSR".index(MOVES[move])))
    text = "\n".join([f"read: u = add(tape[{head}], s) width 1", *_search(rules, 0, len(rules)), *_tail(head)])
    made = assemble(text, variables, _SIZE, columns)
    left = made.labels["left"]
    code = tuple(
        replace(one, by=-1) if isinstance(one, PointerMove) and place >= left else one
        for place, one in enumerate(made.code)
    )
    return _FleqTape(replace(made, code=code), dict(enumerate(order)), len(working), len(tape), letters)


def _search(rules: Sequence[tuple[int, int, int]], low: int, high: int) -> list[str]:
    """The instructions that find rule ``u`` of those from ``low`` to ``high`` and carry it out; the last ends the run.

    Half of them are left aside with each comparison, and the upper half follows straight.
    """
    if low == high == len(rules):
        return ["junk = add(zero, zero) width 1 if zero <= 0 goto end"]
    if low == high:
        written, state, move = rules[low]
        opening = [f"v = add(n{written}, zero) width 1", f"s = add(n{state}, zero) width 1"]
        return [*opening, f"m = add(n{move}, zero) width 1 if zero <= 0 goto write"]
    middle = (low + high) // 2
    lower = _search(rules, low, middle)
    lower[0] = f"upto{middle}from{low}: {lower[0]}"
    test = f"t = sub(u, n{middle}) width 1 if t <= 0 goto upto{middle}from{low}"
    return [test, *_search(rules, middle + 1, high), *lower]


def _tail(head: int) -> list[str]:
    """Write the letter, move both addresses of the tape by ``m`` less one, and read again."""
    moves = ["advance read.a by 1", "advance write.c by 1", "junk = add(zero, zero) width 1 if zero <= 0 goto read"]
    write = f"write: tape[{head}] = add(v, zero) width 1 if m <= 0 goto left"
    stay = "m = sub(m, one) width 1 if m <= 0 goto read"
    return [write, stay, *moves, f"left: {moves[0]}", *moves[1:], "end: halt"]


def fleq_bounds(states: int, letters: int) -> tuple[int, int]:
    """The instructions of the program, the halt included, and the most cycles for a step of the machine.

    Args:
        states: that do not halt.
        letters: of the alphabet.
    """
    return 4 * states * letters + 11, math.ceil(math.log2(states * letters + 1)) + 9
