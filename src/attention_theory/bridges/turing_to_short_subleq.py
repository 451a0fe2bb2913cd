"""A Turing machine as a short SUBLEQ program: head and state are numbers in memory, which the program searches for.

Nothing in SUBLEQ can be looked up at an address that was computed. A search by halving finds the head's cell all the
same, once to read and once to write, and the rule between them. So the program has a few instructions for each cell and
a few for each rule, where the one of :mod:`.turing_to_subleq` has a few for each pair of a state and a cell.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jaxtyping import Int
from torch import Tensor

from attention_theory.bridges.situations import Situation, working_states
from attention_theory.linear_attention.machines.turing import MOVES, Machine
from attention_theory.looped_transformers.subleq.language import RESERVED, SubleqProgram, program
from attention_theory.validation import require


@dataclass(frozen=True)
class _ShortTape:
    """A machine on a tape of fixed length as a short SUBLEQ program.

    Attributes:
        source: the program; a step of the machine begins at its first instruction.
        numbers: the machine's state for each number that stands for one in the program.
        working: how many of them do not halt.
        letters: of the alphabet.
        cells: the cells of the tape.
    """

    source: SubleqProgram
    numbers: Mapping[int, int]
    working: int
    letters: int
    cells: range

    def read(self, counter: int, memory: list[int]) -> Situation | None:
        """The situation, if a step of the machine begins at this counter."""
        if counter:
            return None
        number = memory[self.source.cells["state"]] // self.letters
        head = -memory[self.source.cells["minus head"]] if number < self.working else None
        return Situation(self.numbers.get(number, -1), head, tuple(memory[self.cells.start : self.cells.stop]))


@dataclass
class _Draft:
    """Instructions whose targets are labels yet; no target is the next instruction."""

    lines: list[tuple[int, int, object]] = field(default_factory=list)
    places: dict[object, int] = field(default_factory=dict)

    def put(self, a: int, b: int, target: object = None) -> None:
        self.lines.append((a, b, target))

    def label(self, name: object) -> None:
        self.places[name] = len(self.lines)

    def made(self) -> list[tuple[int, int, int]]:
        places = self.places | {"end": len(self.lines)}
        return [
            (a, b, number + 1 if target is None else places[target]) for number, (a, b, target) in enumerate(self.lines)
        ]


@dataclass
class _Constants:
    """Cells that hold constants, each made when it is first needed, from a first cell on."""

    first: int
    cells: dict[int, int] = field(default_factory=lambda: {value: cell for cell, value in enumerate(RESERVED)})

    def __call__(self, value: int) -> int:
        return self.cells.setdefault(value, self.first + len(self.cells) - len(RESERVED))


def short_subleq_of(machine: Machine, tape: Int[Tensor, " cells"], head: int) -> _ShortTape:
    """The program that does what the machine does, as long as its head stays on the tape.

    Its numbers reach from minus the larger of the cells and of the letters times all states to as much.

    Raises:
        ParameterError: a head off the tape.
    """
    require(head=(head, 0, len(tape) - 1))
    letters, working, cells = len(machine.letters), working_states(machine), len(tape)
    order = [*working, *(state for state in range(len(machine.states)) if state not in working)]
    number = {state: place for place, state in enumerate(order)}
    names = ["minus head", "state", "search", "rule", "change"]
    named = {name: len(RESERVED) + cells + place for place, name in enumerate(names)}
    minus_head, state, search, rule, change = named.values()
    constant, code = _Constants(len(RESERVED) + cells + len(names)), _Draft()
    rules = len(working) * letters

    def fetch(place: int) -> None:
        code.put(len(RESERVED) + place, rule, "look up")  # minus a letter is never positive

    def carry_out(minus: int) -> None:
        if -minus == rules:
            code.put(rule, rule, "end")
            return
        now, letter = divmod(-minus, letters)
        next_state, written, move = machine.table[order[now], letter].tolist()
        code.put(constant(written - letter), change)
        code.put(constant(letters * (now - number[next_state])), state)
        code.put(minus_head, search)
        code.put(constant({"L": -1, "R": 1, "S": 0}[MOVES[move]]), minus_head)
        code.put(rule, rule, "write")

    def store(place: int) -> None:
        code.put(change, len(RESERVED) + place)
        code.put(search, search, "again")

    code.label("read")
    code.put(minus_head, search)
    _search(code, constant, search, (0, cells - 1), fetch)
    code.label("look up")
    code.put(search, search)
    code.put(state, rule)
    _search(code, constant, rule, (-rules, 0), carry_out)
    code.label("write")
    _search(code, constant, search, (0, cells - 1), store)
    code.label("again")
    code.put(change, change, "read")
    values = [*tape.tolist(), -head, letters * number[working[0]], 0, 0, 0]
    made = code.made()
    values += [value for value, cell in sorted(constant.cells.items(), key=lambda one: one[1]) if cell >= len(RESERVED)]
    source = program(values, made, named)
    return _ShortTape(
        source, dict(enumerate(order)), len(working), letters, range(len(RESERVED), len(RESERVED) + cells)
    )


def _search(
    code: _Draft, constant: _Constants, cell: int, ends: tuple[int, int], leaf: Callable[[int], None], at: int = 0
) -> None:
    """Find the number in a cell among those from end to end, and go on at its leaf; ``at`` was subtracted before.

    A test is one instruction: what it leaves in the cell is the number less the middle, and the next test goes on from
    there. A number below the first end is taken for that end.
    """
    low, high = ends
    if low == high:
        leaf(low)
        return
    middle = (low + high) // 2
    lower = object()
    code.put(constant(middle - at), cell, lower)
    _search(code, constant, cell, (middle + 1, high), leaf, middle)
    code.label(lower)
    _search(code, constant, cell, (low, middle), leaf, middle)


def short_subleq_bounds(states: int, letters: int, cells: int) -> tuple[int, int]:
    """The instructions of the program, its last one included, and the most cycles for a step of the machine.

    Args:
        states: that do not halt.
        letters: of the alphabet.
        cells: of the tape.
    """
    rules = states * letters
    return 5 * cells + 6 * rules + 4, 2 * math.ceil(math.log2(cells)) + math.ceil(math.log2(rules + 1)) + 12
