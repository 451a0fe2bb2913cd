"""Rows and heads of a universal Turing machine within the sizes of Lemma 2.2: memory is written, and taken back.

The layer sees the tokens through sums ``Σ z z^T``, so that a token which holds a key and a value *adds* the value under
the key, and a later token with the same key and the value's negative takes it out again. Three tables are kept so:

* the tape: under the row ``cell c`` the letter of cell c and, where the head is, its state (rows ``head``). A step adds
  "new letter less old letter" under the head's cell, takes the state out there and puts the new one in next door;
* the pair: state under letter, written to find out which rule applies, and taken back two tokens later;
* the departure: cell under move, written to find out where the head goes, and taken back by the next token.

A step of the machine is six tokens of work, and then the tape itself, one token a cell:

=======  ==================================================  ========================================
token    holds                                               finds out
=======  ==================================================  ========================================
LOCATE   h (``at``)                                          letter and state in cell h
READ     letter a, state q                                   the pair (q, a)
PAIR     (q, a)                                              the rule (q', a', move), and h again
WRITE    under cell h: a' - a; under a: -q; move             the cell h' the head moves to, h again
LEAVE    under cell h: -q, under the move: -h; h' (``at``)   h' as a key
ARRIVE   under cell h': q'; the first cell as ``next``       the first cell of the tape
PRINT    letter and state of a cell; ``next`` its neighbour  the next cell; after the last one a new blank
=======  ==================================================  ========================================

The blank that ends the sweep is the tape's new cell: it is printed, stored and starts the next step, all in one token.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.linear_attention.machines.block_heads import BlockHead
from attention_theory.linear_attention.machines.turing import LEFT, MOVES, RIGHT, RULE, STAY
from attention_theory.rows import Rows
from attention_theory.validation import require

#: The tokens of work of a step, before the tape is printed.
WORK = ("LOCATE", "READ", "PAIR", "WRITE", "LEAVE", "ARRIVE")


#: Rows by name, or themselves; and what a head maps: source to key, value to destination with a weight.
_Where = str | Tensor
_Ask = tuple[_Where, _Where]
_Answer = tuple[_Where, _Where, int]


class CompactHeads:
    """The named rows and the heads of a ``CompactMachine``, with its arguments.

    Raises:
        ParameterError: a bound below 1.
    """

    def __init__(
        self, states: int, letters: int, word: int, steps: int, take_back: bool = True, stays: bool = False
    ) -> None:
        require(states=(states, 1, None), letters=(letters, 1, None), word=(word, 1, None), steps=(steps, 1, None))
        self.states, self.letters, self.word, self.steps, self.cells = states, letters, word, steps, word + steps
        self.take_back, self.stays = take_back, stays
        self.rows = Rows()
        self._add_rows()
        parts = (self._clock(), self._memory(), self._rules(), self._moves(), self._sweep())
        self.heads: list[BlockHead] = [head for part in parts for head in part]

    def _add_rows(self) -> None:
        add = self.rows.add
        add("#", 1)
        add("table of", self.states)
        for letter in range(self.letters):
            add(f"table {letter}", 1)
            for part, size in zip(RULE, (self.states, self.letters, len(MOVES)), strict=True):
                add(f"table {letter} {part}", size)
        add("cell", self.cells)
        add("letter", self.letters)
        add("state", self.states)
        add("head", self.states)
        for name in ("at", "next"):
            add(name, self.cells)
        for tick in ("go", *WORK[:-1]):
            add(tick, 1)
        add("read letter", self.letters)
        add("read state", self.states)
        for letter in range(self.letters):
            add(f"pair {letter}", self.states)
        for name in ("move", "moved"):
            add(name, len(MOVES))
        for name in ("next state", "brought state"):
            add(name, self.states)

    def _clock(self) -> Iterator[BlockHead]:
        """Each token of work starts the next one; three of them need to know where the head is.

        Only one cell holds a state: asked for all states at once, the tape answers with that cell.
        """
        where = {"go": "at", "PAIR": "cell", "WRITE": "cell"}
        ticks = ("go", *WORK[:-1])
        for tick, following in pairwise(ticks):
            seeks = tick in where
            yield self._head(
                [(tick, "#"), *([(tick, "head")] if seeks else [])],
                [("#", following, 1), *([("cell", where[tick], 1)] if seeks else [])],
            )
        yield self._head([("LEAVE", "#")], [("#", self._rows("next")[:1], 1)])

    def _memory(self) -> Iterator[BlockHead]:
        """Read the cell that the token is at; carry a state on; put states in and out of the tape."""
        yield self._head([("at", "cell")], [("letter", "read letter", 1), ("head", "read state", 1)])
        yield self._head([("next state", "table of")], [("table of", "brought state", 1)])
        yield self._head([("read state", "table of"), ("brought state", "table of")], [("table of", "head", 1)])

    def _rules(self) -> Iterator[BlockHead]:
        """State under letter, asked for by its own letter; then the rule of that state, and the pair taken back."""
        for letter in range(self.letters):
            read, old = self._rows("read letter")[letter], self._rows("letter")[letter]
            yield self._head([(read, read)], [("read state", f"pair {letter}", 1)])
            table = f"table {letter}"
            answers: list[_Answer] = [
                (f"{table} letter", "letter", 1),
                (table, old, -1),
                (f"{table} move", "move", 1),
                (f"{table} move", "moved", 1),
                (f"{table} state", "next state", 1),
                ("table of", "read state", -1),
            ]
            yield self._head(
                [(f"pair {letter}", "table of")], [*answers, (table, read, 1)] if self.take_back else answers
            )

    def _moves(self) -> Iterator[BlockHead]:
        """Cell under move, asked for by its own move; then taken back: with the move's negative.

        Left of the first cell there is none; a head that stays there gets that cell itself.
        """
        cell, at = self._rows("cell"), self._rows("at")
        shifted = {LEFT: (cell[1:], at[:-1]), RIGHT: (cell[:-1], at[1:]), STAY: (cell, at)}
        for move, (here, there) in shifted.items():
            row, moved = self._rows("move")[move], self._rows("moved")[move]
            taken_back: list[_Answer] = [("#", row, -1)] if self.take_back else []
            edge: list[_Answer] = [(cell[:1], at[:1], 1)] if self.stays and move == LEFT else []
            yield self._head([(row, row), (moved, "#")], [(here, there, 1), *edge, *taken_back])

    def _sweep(self) -> Iterator[BlockHead]:
        """Print the cell called ``next``; where there is none yet, write a blank and start the next step.

        A cell that is there holds one letter, so that "no cell" is ``# - (sum of the letters)`` and blank is ``# -
        (sum of the other letters)``. The heads of single cells also make the row ``at`` a key.
        """
        letter = self._rows("letter")
        printed: list[_Answer] = [(letter[1:], letter[1:], 1), ("#", letter[:1], 1), (letter[1:], letter[:1], -1)]
        yield self._head(
            [("next", "cell"), ("next", "#")], [*printed, ("head", "state", 1), ("#", "go", 1), (letter, "go", -1)]
        )
        cells, following = self._rows("cell"), self._rows("next")
        for cell, here, at in zip(cells, following, self._rows("at"), strict=True):
            known = following[following == here + 1]  # none after the last
            follow: list[_Answer] = [(letter, one, 1) for one in known]
            yield self._head([(here, cell), (here, "#"), (at, "#")], [("#", cell, 1), (letter, cell, -1), *follow])

    def _rows(self, name: str) -> Int[Tensor, " block"]:
        return self.rows.indices(name)

    def _head(self, asks: Sequence[_Ask], answers: Sequence[_Answer]) -> BlockHead:
        """One head from pairs (source, key) and (value, destination, weight); a single row goes with every other."""
        queries = [self._pairs(source, key) for source, key in asks]
        moves = [self._pairs(value, destination) for value, destination, _ in answers]
        weights = [torch.full((len(move[0]),), answer[2]) for move, answer in zip(moves, answers, strict=True)]
        (source, key), (value, destination) = (torch.cat(pairs, dim=1) for pairs in (queries, moves))
        return BlockHead(source, key, value, destination, torch.cat(weights))

    def _pairs(self, first: _Where, second: _Where) -> Int[Tensor, "2 pairs"]:
        rows = [self._rows(one) if isinstance(one, str) else one.reshape(-1) for one in (first, second)]
        return torch.stack(torch.broadcast_tensors(*rows))
