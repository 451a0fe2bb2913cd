"""Rows and heads of the paper's universal Turing machine (Appendix C.1; Algorithm 6 in lookups).

The prompt holds the transition table, one token a state, and the tape, one token a cell. Every cell of every step of
the machine is then a *block* of four tokens:

* LOAD copies letter and state of the cell and its two neighbours from the tape as it was one step before;
* LOOKUP finds the table's column for each of the three states, if there is one;
* SELECT picks from each column the rule for the letter under the head;
* EMIT writes the cell's new letter and state (Algorithm 7, as corrected in ``tape_program``).

The working rows of each block are private, as in the paper: a condition on letter *and* state compares the last token
with itself, and entries of earlier blocks in the same rows would answer as well.
"""

from collections.abc import Iterator
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.linear_attention.machines.block_heads import BlockHead
from attention_theory.linear_attention.machines.turing import LEFT, MOVES, RIGHT, RULE, STAY
from attention_theory.rows import Rows
from attention_theory.validation import FORMS, Form, require

#: The tokens of a block.
_LOAD, _LOOKUP, _SELECT, EMIT = range(4)
BLOCK = 4

_NEIGHBOURS = {"left": -1, "here": 0, "right": 1}


class UniversalHeads:
    """The named rows and the heads of a ``UniversalMachine``, with its arguments.

    Raises:
        ParameterError: a bound below 1, or an unknown kind of working rows.
    """

    def __init__(
        self,
        states: int,
        letters: int,
        window: int,
        steps: int,
        working_rows: Literal["private", "shared"] = "private",
        form: Form = "correct",
    ) -> None:
        require(states=(states, 1, None), letters=(letters, 1, None), window=(window, 1, None), steps=(steps, 1, None))
        require(working_rows=(working_rows, {"private", "shared"}), form=(form, FORMS))
        self.states, self.letters, self.window, self.steps = states, letters, window, steps
        self._working_rows, self.form = working_rows, form
        self.prompt_tokens = states + window
        self.tokens = self.prompt_tokens + BLOCK * window * steps
        self.rows = Rows()
        self._add_shared_rows()
        for block in self._names():
            self._add_working_rows(block)
        # Every head once: blocks that share their working rows share the heads without a position.
        self.heads: list[BlockHead] = list({_matrices(head): head for head in self._each()}.values())

    def _each(self) -> Iterator[BlockHead]:
        """One head for the position, then those of each block."""
        position = self.rows.indices("position")
        yield BlockHead(source=position, key=position, value=position[:-1], destination=position[1:])
        names = self._names()
        for step in range(1, self.steps + 1):
            for cell in range(self.window):
                block = names[((step - 1) * self.window + cell) % len(names)]
                yield from self._load(block, step, cell)
                yield from self._lookup(block, self._at(step, cell, _LOAD))
                yield from self._select(block, self._at(step, cell, _LOOKUP))
                yield from self._emit(block, self._at(step, cell, _SELECT))

    def place(self, step: int, cell: int, token: int) -> int:
        """The number of the token that holds a cell after ``step`` steps, or does the work of its block."""
        if step == 0:
            return self.states + cell
        return self.prompt_tokens + BLOCK * ((step - 1) * self.window + cell) + token

    def _names(self) -> list[str]:
        blocks = range(self.window * self.steps)
        return ["block"] if self._working_rows == "shared" else [f"block {number}" for number in blocks]

    def _add_shared_rows(self) -> None:
        self.rows.add("position", self.tokens)
        self.rows.add("table of", self.states)
        for letter in range(self.letters):
            self._add_rule(f"table {letter}")
        self.rows.add("letter", self.letters)
        self.rows.add("state", self.states + 1)

    def _add_working_rows(self, block: str) -> None:
        for side in _NEIGHBOURS:
            self.rows.add(f"{block} {side} letter", self.letters)
            self.rows.add(f"{block} {side} state", self.states + 1)
            for letter in range(self.letters):
                self._add_rule(f"{block} {side} {letter}")
            self.rows.add(f"{block} {side} letter again", self.letters)
            self._add_rule(f"{block} {side} chosen")
        self.rows.add(f"{block} state again", self.states + 1)
        self.rows.add(f"{block} old letter", self.letters)
        self.rows.add(f"{block} old state", self.states + 1)

    def _add_rule(self, name: str) -> None:
        for part, size in zip(RULE, (self.states, self.letters, len(MOVES)), strict=True):
            self.rows.add(f"{name} {part}", size)

    def _rule(self, name: str) -> Int[Tensor, " rule"]:
        return torch.cat([self.rows.indices(f"{name} {part}") for part in RULE])

    def _at(self, step: int, cell: int, token: int) -> Int[Tensor, " one"]:
        """The position row of one token. As source and key of a head it says: at this token, look at yourself."""
        place = self.place(step, cell, token)
        return self.rows.indices("position")[place : place + 1]

    def _load(self, block: str, step: int, cell: int) -> Iterator[BlockHead]:
        now = self.place(step, cell, _LOAD) - 1
        asking = self.rows.indices("position")[now : now + 1]
        for side, offset in _NEIGHBOURS.items():
            if 0 <= cell + offset < self.window:
                asked = self._at(step - 1, cell + offset, EMIT)
                for part in ("letter", "state"):
                    yield BlockHead(asking, asked, self.rows.indices(part), self.rows.indices(f"{block} {side} {part}"))

    def _lookup(self, block: str, here: Int[Tensor, " one"]) -> Iterator[BlockHead]:
        columns = torch.cat([self._rule(f"table {letter}") for letter in range(self.letters)])
        for side in _NEIGHBOURS:
            copied = torch.cat([self._rule(f"{block} {side} {letter}") for letter in range(self.letters)])
            state = self.rows.indices(f"{block} {side} state")[: self.states]  # None asks for nothing
            yield BlockHead(state, self.rows.indices("table of"), columns, copied)
            yield self._keep(here, f"{block} {side} letter", f"{block} {side} letter again")
        yield self._keep(here, f"{block} here state", f"{block} state again")

    def _select(self, block: str, here: Int[Tensor, " one"]) -> Iterator[BlockHead]:
        for side in _NEIGHBOURS:
            for letter in range(self.letters):
                read = self.rows.indices(f"{block} {side} letter again")[letter : letter + 1]
                yield BlockHead(
                    read, read, self._rule(f"{block} {side} {letter}"), self._rule(f"{block} {side} chosen")
                )
        yield self._keep(here, f"{block} here letter again", f"{block} old letter")
        yield self._keep(here, f"{block} state again", f"{block} old state")

    def _emit(self, block: str, here: Int[Tensor, " one"]) -> Iterator[BlockHead]:
        rows, state = self.rows.indices, self.rows.indices("state")
        none, empty = state[-1:], rows(f"{block} old state")[-1:]
        yield self._keep(here, f"{block} here chosen letter", "letter")
        yield BlockHead(empty, empty, rows(f"{block} old letter"), rows("letter"))
        moves = {side: rows(f"{block} {side} chosen move").split(1) for side in _NEIGHBOURS}
        arrivals = {"left": moves["left"][RIGHT], "right": moves["right"][LEFT], "here": moves["here"][STAY]}
        for side, move in arrivals.items():
            yield BlockHead(move, move, rows(f"{block} {side} chosen state"), state[:-1])
        if self.form == "correct":  # empty before, or left just now, and nobody arrives
            yield BlockHead(here, here, empty, none)
            for move in (moves["here"][LEFT], moves["here"][RIGHT]):
                yield BlockHead(move, move, move, none)
            for move in (arrivals["left"], arrivals["right"]):
                yield BlockHead(move, move, move, none, weight=-1)

    def _keep(self, here: Int[Tensor, " one"], value: str, destination: str) -> BlockHead:
        """At one token: carry an attribute over into other rows of the next token."""
        return BlockHead(here, here, self.rows.indices(value), self.rows.indices(destination))


def _matrices(head: BlockHead) -> tuple[tuple[int, ...], ...]:
    """The matrices of a head, as a key."""
    rows = (head.source, head.key, head.value, head.destination)
    return (*(tuple(part.tolist()) for part in rows), (head.weight,))
