"""From a Turing machine to a SUBLEQ program: the pair of state and cell becomes a place in the program (Bridge 1).

The SUBLEQ of the looped transformer has no pointers: an instruction names its cells for good. So the head cannot be a
number. It is the place in the program at which the computer stands, as is the state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from jaxtyping import Int
from torch import Tensor

from attention_theory.bridges.situations import HALTING, Situation, working_states
from attention_theory.linear_attention.machines.turing import MOVES, Machine
from attention_theory.looped_transformers.subleq.language import RESERVED, SubleqProgram, program
from attention_theory.validation import require

_ZERO = 0  # the reserved cell that holds 0
#: What the cell ``answer`` holds after the machine has halted.
_ANSWERS = {"accept": 1, "reject": -1}


@dataclass(frozen=True)
class SubleqTape:
    """A machine on a tape of fixed length as a SUBLEQ program.

    Attributes:
        source: the program; its memory has the tape, the answer and the constants behind the reserved cells.
        entries: the situation's state and cell at the instructions where a step of the machine begins; no cell where
            the state halts.
        cells: the cells of the tape.
    """

    source: SubleqProgram
    entries: Mapping[int, tuple[int, int | None]]
    cells: range

    def read(self, counter: int, memory: list[int]) -> Situation | None:
        """The situation, if a step of the machine begins at this counter."""
        if counter not in self.entries:
            return None
        state, head = self.entries[counter]
        return Situation(state, head, tuple(memory[self.cells.start : self.cells.stop]))


def subleq_of(machine: Machine, tape: Int[Tensor, " cells"], head: int) -> SubleqTape:
    """The program that does what the machine does, as long as its head stays on the tape; off it, it ends.

    At state q and cell p the letter is found by subtracting ones until nothing is left; what is left is then known, and
    one subtraction writes the new letter. Each step takes at most ``letters + 1`` instructions.

    Raises:
        ParameterError: a head off the tape.
    """
    require(head=(head, 0, len(tape) - 1))
    letters, cells = len(machine.letters), range(len(RESERVED), len(RESERVED) + len(tape))
    constants = [value for value in range(-letters, letters + 1) if value]
    answer = cells.stop
    where = {value: answer + 1 + place for place, value in enumerate(constants)} | {0: _ZERO}
    working = working_states(machine)
    blocks = [(working[0], head)] + [
        pair for pair in product(working, range(len(tape))) if pair != (working[0], head)
    ]  # the program starts at its first instruction
    drafts: list[_Draft] = []
    labels: dict[tuple[int, int | None], int] = {}
    for state, place in blocks:
        labels[state, place] = len(drafts)
        drafts += _block(machine, state, place, cells[place], where)
    for state, name in enumerate(machine.states):
        if name in HALTING:
            labels[state, None] = len(drafts)
            drafts.append((where[-_ANSWERS[name]], answer, None))
            drafts.append((_ZERO, _ZERO, None))
    end, halting = len(drafts), {state for state, name in enumerate(machine.states) if name in HALTING}

    def number(target: "_Target", place: int) -> int:
        if isinstance(target, int):
            return place + target
        if target is None or (target[0] not in halting and not 0 <= target[1] < len(tape)):
            return end
        return labels[target[0], None if target[0] in halting else target[1]]

    code = [(a, b, number(target, place)) for place, (a, b, target) in enumerate(drafts)]
    entries = {place: pair for pair, place in labels.items()}
    return SubleqTape(program([*tape.tolist(), 0, *constants], code), entries, cells)


#: Where an instruction jumps: on by so many, to the end (``None``), or to a state and cell.
_Target = int | tuple[int, int] | None
_Draft = tuple[int, int, _Target]


def _block(machine: Machine, state: int, place: int, cell: int, where: Mapping[int, int]) -> list[_Draft]:
    """The instructions for one state and cell: tests of the letter, then for every letter what its rule says."""
    letters = len(machine.letters)
    tests: list[_Draft] = []
    rules: list[list[_Draft]] = []
    for letter in range(letters):
        left = 1 if letter == letters - 1 > 0 else 0
        next_state, written, move = machine.table[state, letter].tolist()
        goal = (next_state, place + {"L": -1, "R": 1, "S": 0}[MOVES[move]])
        change: list[_Draft] = [] if written == left else [(where[left - written], cell, goal if not written else 1)]
        rules.append(change if change and not written else [*change, (_ZERO, _ZERO, goal)])
    order = [letters - 1, *range(letters - 1)]  # the last letter is what no test has found
    start = {letter: sum(len(rules[other]) for other in order[:rank]) for rank, letter in enumerate(order)}
    for letter in range(letters - 1):
        tests.append((where[1] if letter else _ZERO, cell, letters - 1 - letter + start[letter]))
    return [*tests, *(draft for letter in order for draft in rules[letter])]


def subleq_bounds(states: int, letters: int, cells: int) -> tuple[int, int]:
    """The most instructions of the program, its last one included, and the most cycles for a step of the machine.

    Args:
        states: that do not halt.
        letters: of the alphabet.
        cells: of the tape.
    """
    return states * cells * (3 * letters - 1) + 2 * len(HALTING) + 1, letters + 1
