"""Turing machines: written as text, run on a window of tape, decided (the definitions of Section 5).

The tape is a window of fixed length. A head that leaves it is lost, as in Algorithm 7: no cell holds a state from then
on. In textbooks a head that would leave on the left stays: ``stays=True``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_theory._listings import program_lines
from attention_theory.randomness import Seed, generator
from attention_theory.validation import Each, ParameterError, refuse_unless, require, require_some

#: The moves of a head, by number. ``S`` stays, so that a machine can halt; the paper has ``L`` and ``R`` only.
MOVES = "LRS"
LEFT, RIGHT, STAY = range(3)

#: The parts of a rule δ(q, a), in the order of a transition table.
RULE = ("state", "letter", "move")

_Verdict = Literal["accept", "reject", "undecided"]


@dataclass(frozen=True)
class Machine:
    """A machine M: its states, its letters (the first is the blank) and its transition function δ.

    Attributes:
        states: the names of the states; the first is the start state. ``accept`` and ``reject`` halt.
        letters: one character each.
        table: ``table[state, letter]`` holds the next state, the letter written and the move.
    """

    states: tuple[str, ...]
    letters: str
    table: Int[Tensor, "states letters 3"]

    def decide(self, word: str, window: int, steps: int, start: int = 0) -> _Verdict:
        """Test whether the machine accepts or rejects the word within the steps, started at cell ``start``."""
        run = simulate(self.table, write_tape(self, word, window, start), start, steps)
        last = int(run.states[-1].min())
        if last < len(self.states) and self.states[last] in ("accept", "reject"):
            return "accept" if self.states[last] == "accept" else "reject"
        return "undecided"


@dataclass(frozen=True)
class Configurations:
    """The tape of a machine after 0, 1, 2, ... steps.

    Attributes:
        letters: the letter of every cell.
        states: the state in the cell where the head is; ``len(table)`` (the paper's ``None``) in every other cell.
    """

    letters: Int[Tensor, "times window"]
    states: Int[Tensor, "times window"]


def parse_machine(text: str) -> Machine:
    """A machine from lines ``state letter -> state letter move``, with ``#`` for comments.

    States are numbered in the order in which they appear, the start state first. The blank is ``_`` where the rules
    name it, and else the first letter; the others follow as they appear. A halting state (``accept``, ``reject``) stays
    as it is; a pair that no line names rejects.

    Raises:
        ParameterError: a line of another form, a letter of more than one character, an unknown move, a pair that is
            named twice, an invisible character outside of comments, or no rule.
    """
    rules: dict[tuple[str, str], tuple[str, str, int]] = {}
    for number, line in program_lines(text):
        words = line.replace("->", " -> ").split()
        is_rule = len(words) == 6 and words[2] == "->" and words[5] in tuple(MOVES)
        refuse_unless(
            is_rule and len(words[1]) == len(words[4]) == 1,
            f"line {number} of the machine must read 'state letter -> state letter L|R|S', got '{line}'",
        )
        state, letter, _, next_state, written, move = words
        if (state, letter) in rules:
            raise ParameterError(f"line {number} of the machine names the pair ({state}, {letter}) again")
        rules[state, letter] = (next_state, written, MOVES.index(move))
    refuse_unless(bool(rules), "text must have at least one rule, got none")
    named = [name for (state, _), (next_state, _, _) in rules.items() for name in (state, next_state)]
    states = list(dict.fromkeys([*named, "accept", "reject"]))
    letters = list(dict.fromkeys(one for (_, letter), (_, written, _) in rules.items() for one in (letter, written)))
    letters.sort(key=lambda letter: letter != "_")
    table = torch.empty(len(states), len(letters), 3, dtype=torch.int64)
    for place, state in enumerate(states):
        for sign, letter in enumerate(letters):
            stays = state if state in ("accept", "reject") else "reject"
            next_state, written, move_number = rules.get((state, letter), (stays, letter, STAY))
            table[place, sign] = torch.tensor([states.index(next_state), letters.index(written), move_number])
    return Machine(tuple(states), "".join(letters), table)


def pad_table(
    table: Int[Tensor, "states letters 3"], states: int, letters: int
) -> Int[Tensor, "more_states more_letters 3"]:
    """The same machine within larger bounds: states and letters that it does not use are added and stay as they are.

    Raises:
        ParameterError: the machine is larger than the bounds.
    """
    require(states=(states, len(table), None), letters=(letters, table.shape[1], None))
    padded = torch.stack(
        [
            torch.arange(states, device=table.device)[:, None].expand(-1, letters),
            torch.arange(letters, device=table.device).expand(states, -1),
            torch.full((states, letters), STAY, device=table.device),
        ],
        dim=-1,
    )
    padded[: len(table), : table.shape[1]] = table
    return padded


def write_tape(machine: Machine, word: str, window: int, start: int = 0) -> Int[Tensor, " window"]:
    """The word on a window of blanks, its first letter in cell ``start``.

    Raises:
        ParameterError: a letter that the machine does not know, or no room.
    """
    room = window - start
    refuse_unless(len(word) <= room, f"word must have at most {room} letters, got {len(word)}")
    if word:
        require(word=(Each(list(word)), machine.letters))
    tape = torch.zeros(window, dtype=torch.int64)
    tape[start : start + len(word)] = torch.tensor(
        [machine.letters.index(letter) for letter in word], dtype=torch.int64
    )
    return tape


def simulate(
    table: Int[Tensor, "states letters 3"],
    tape: Int[Tensor, " window"],
    head: int,
    steps: int,
    stays: bool = False,
    start: int = 0,
) -> Configurations:
    """The reference: one step after another, started in state ``start`` at cell ``head``.

    With ``stays`` a head in the first cell that moves left stays there; else it is lost.

    Raises:
        ParameterError: an entry of the table or the tape that the machine does not have; steps below 0, a head outside
            the tape, or a start state that the machine does not have.
    """
    require_some(tape=tape)
    require(steps=(steps, 0, None), head=(head, 0, len(tape) - 1), start=(start, 0, len(table) - 1))
    symbols = table.shape[1]
    require(tape=(Each(tape), 0, symbols - 1))
    for part, most in enumerate((len(table), symbols, len(MOVES))):
        require(table=(Each(table[..., part]), 0, most - 1))
    nowhere = len(table)
    cells: list[int] = tape.tolist()
    place, state = head, start
    letters, states = [], []
    for _ in range(steps + 1):
        here = 0 <= place < len(cells)
        letters.append(list(cells))
        states.append([state if here and cell == place else nowhere for cell in range(len(cells))])
        if here:
            state, cells[place], move = table[state, cells[place]].tolist()
            place += {LEFT: -1, RIGHT: 1, STAY: 0}[move]
            place = max(place, 0) if stays else place
    return Configurations(torch.tensor(letters, device=tape.device), torch.tensor(states, device=tape.device))


@dataclass(frozen=True)
class Comparison:
    """Runs of machines in a layer, compared with the simulator.

    Attributes:
        exact: by machine and step, whether every letter and every state is the simulator's.
        kept: whether the machine's head is on the tape to the end.
    """

    exact: Bool[Tensor, "machines times"]
    kept: Bool[Tensor, " machines"]

    @property
    def machines(self) -> int:
        """The number of machines that are exact at every step."""
        return int(self.exact.all(dim=1).sum())


def compare_with_simulator(
    configurations: Iterable[Configurations],
    tables: Int[Tensor, "machines states letters 3"],
    tapes: Int[Tensor, "machines window"],
    places: Int[Tensor, " machines"],
    steps: int,
    stays: bool = False,
) -> Comparison:
    """Run each machine in :func:`simulate`, and compare with what a layer wrote.

    Args:
        configurations: after 0, 1, 2, ... steps, a row for each machine; of the first cells where it has fewer.
        tables, tapes, places: the machines, their tapes and heads.
        steps: the number of steps.
        stays: as in :func:`simulate`.
    """
    runs = [simulate(*one, steps, stays) for one in zip(tables, tapes, places.tolist(), strict=True)]
    letters, states = (torch.stack([getattr(run, part) for run in runs]) for part in ("letters", "states"))
    exact = [
        (read.letters == letters[:, step, : read.letters.shape[1]]).all(dim=1)
        & (read.states == states[:, step, : read.letters.shape[1]]).all(dim=1)
        for step, read in enumerate(configurations)
    ]
    return Comparison(torch.stack(exact, dim=1), (states[:, -1] < tables.shape[1]).any(dim=1))


def random_tables(machines: int, states: int, letters: int, seed: Seed) -> Int[Tensor, "machines states letters 3"]:
    """Transition functions with every next state, letter and move drawn evenly.

    Raises:
        ParameterError: machines, states or letters below 1.
    """
    require(machines=(machines, 1, None), states=(states, 1, None), letters=(letters, 1, None))
    draws = generator(seed)
    shape = (machines, states, letters)
    return torch.stack([torch.randint(most, shape, generator=draws) for most in (states, letters, len(MOVES))], dim=-1)


def random_inputs(
    machines: int, letters: int, window: int, seed: Seed
) -> tuple[Int[Tensor, "machines window"], Int[Tensor, " machines"]]:
    """A random tape and head for every machine.

    Raises:
        ParameterError: machines, letters or window below 1.
    """
    require(machines=(machines, 1, None), letters=(letters, 1, None), window=(window, 1, None))
    draws = generator(seed)
    tapes = torch.randint(letters, (machines, window), generator=draws)
    return tapes, torch.randint(window, (machines,), generator=draws)
