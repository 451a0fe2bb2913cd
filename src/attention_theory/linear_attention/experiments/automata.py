"""The task of Section 6.3: strings that hold an automaton, a word, and the automaton's run on the word."""

from collections.abc import Collection
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.randomness import Seed, generator
from attention_theory.validation import Each, refuse_unless, require, require_shape


@dataclass(frozen=True)
class _StringParts:
    """The contents of one string.

    Attributes:
        table: the next state, by state and letter.
        word: the letters.
        history: for each letter the state before, the letter and the state after.
    """

    table: dict[tuple[int, int], int]
    word: list[int]
    history: list[tuple[int, int, int]]


@dataclass(frozen=True)
class StringForm:
    """The layout of the strings for automata of one size.

    A string is the table, ``( s w s' )`` for every state s and letter w, then ``|``, the word, ``|``, and the history,
    ``( s^0 w_0 s^1 ) ( s^1 w_1 s^2 ) ...`` with ``s^0`` the state 0. Tokens are numbered: states, letters, ``( ) |``.

    Attributes:
        states: Q, at least 1.
        letters: V, at least 1.
        word: L, letters of the word, at least 1.

    Raises:
        ParameterError: a size below 1.
    """

    states: int
    letters: int
    word: int

    def __post_init__(self) -> None:
        require(states=(self.states, 1, None), letters=(self.letters, 1, None), word=(self.word, 1, None))

    @property
    def vocabulary(self) -> int:
        return self.states + self.letters + 3

    @property
    def table(self) -> int:
        """Tokens of the table, 5 Q V."""
        return 5 * self.states * self.letters

    @property
    def prompt(self) -> int:
        """Tokens before the history: the table, the word and two bars."""
        return self.table + self.word + 2

    @property
    def length(self) -> int:
        """Tokens of a whole string."""
        return self.prompt + 5 * self.word

    @property
    def state_places(self) -> list[int]:
        """The places, counted from the start of the history, of the states that have to be looked up in the table."""
        return [5 * step + 3 for step in range(self.word)]

    def random_automata(
        self, count: int, seed: Seed
    ) -> tuple[Int[Tensor, "count states letters"], Int[Tensor, "count word"]]:
        """Transition functions and words, every entry drawn evenly.

        Raises:
            ParameterError: a count below 1.
        """
        require(count=(count, 1, None))
        draws = generator(seed)
        tables = torch.randint(self.states, (count, self.states, self.letters), generator=draws)
        return tables, torch.randint(self.letters, (count, self.word), generator=draws)

    def write(
        self,
        tables: Int[Tensor, "count states letters"],
        words: Int[Tensor, "count word"],
        shown: Int[Tensor, "count states letters"] | None = None,
    ) -> Int[Tensor, "count length"]:
        """The strings for given automata and words.

        Args:
            tables: the transition functions that make the histories.
            words: the words.
            shown: tables to write into the prompt instead, e.g. those of other automata.

        Raises:
            ParameterError: a table or word of another size.
        """
        require_shape(tables=(tables, (None, self.states, self.letters)), words=(words, (None, self.word)))
        shown, every = tables if shown is None else shown, tables.shape
        state = torch.arange(self.states, device=tables.device)[:, None].expand(every).flatten(1)
        letter = torch.arange(self.letters, device=tables.device).expand(every).flatten(1)
        visited = runs(tables, words)
        bar = torch.full((len(tables), 1), self.vocabulary - 1, device=tables.device)
        table = self._triplets(state, letter, shown.flatten(1))
        history = self._triplets(visited[:, :-1], words, visited[:, 1:])
        return torch.cat([table, bar, words + self.states, bar, history], dim=1)

    def read(self, string: Int[Tensor, " length"]) -> _StringParts:
        """Table, word and history of one string, token by token: the reference for :meth:`write`.

        Raises:
            ValueError: a token that does not belong in its place.
        """
        tokens = string.tolist()
        opening, closing, bar = (self.states + self.letters + kind for kind in range(3))

        def triplet(start: int) -> tuple[int, int, int]:
            first, before, letter, after, last = tokens[start : start + 5]
            if (first, last) != (opening, closing) or max(before, after) >= self.states or letter < self.states:
                raise ValueError(f"no triplet at {start}: {tokens[start : start + 5]}")
            return before, letter - self.states, after

        if len(tokens) != self.length or tokens[self.table] != bar or tokens[self.prompt - 1] != bar:
            raise ValueError(f"a string of this form has {self.length} tokens and two bars, not {tokens}")
        table = {(before, letter): after for before, letter, after in map(triplet, range(0, self.table, 5))}
        word = [token - self.states for token in tokens[self.table + 1 : self.prompt - 1]]
        return _StringParts(table, word, [triplet(start) for start in range(self.prompt, self.length, 5)])

    def _triplets(self, before: Tensor, letter: Tensor, after: Tensor) -> Int[Tensor, "count tokens"]:
        opening = torch.full_like(before, self.states + self.letters)
        return torch.stack([opening, before, letter + self.states, after, opening + 1], dim=-1).flatten(1)


#: All tables of a form fall into this many parts, so that some can be kept from training.
_PARTS = 4
_PRIME = 2**31 - 1
_MOST_DRAWS = 1000


def _part_of(tables: Int[Tensor, "count states letters"], seed: int = 0) -> Int[Tensor, " count"]:
    """The part, 0 to ``_PARTS - 1``, that each table belongs to: a random linear hash of its entries.

    Equal tables are always in the same part, and about as many tables are in each.
    """
    weights = torch.randint(1, _PRIME, tables.shape[1:], generator=generator(seed), device="cpu").to(tables.device)
    return (tables * weights).sum(dim=(1, 2)) % _PRIME % _PARTS


def automata_of_parts(
    parts: Collection[int], count: int, form: StringForm, draws: torch.Generator, seed: int = 0
) -> tuple[Int[Tensor, "count states letters"], Int[Tensor, "count word"]]:
    """Automata as ``form.random_automata`` draws them, of the given parts alone; ``seed`` is that of the parts.

    Raises:
        ParameterError: no part is given, or these parts hold no table of this form, or too few to be met.
    """
    require(parts=(Each(parts), 0, _PARTS - 1))
    tables, words = [], []
    found = tries = 0
    while found < count:
        drawn, read = form.random_automata(count, draws)
        kept = torch.isin(_part_of(drawn, seed), torch.tensor(list(parts), device=drawn.device))
        tables.append(drawn[kept])
        words.append(read[kept])
        found, tries = found + int(kept.sum()), tries + 1
        refuse_unless(tries <= _MOST_DRAWS, f"parts must be met within {_MOST_DRAWS} draws, got {list(parts)}")
    return torch.cat(tables)[:count], torch.cat(words)[:count]


def runs(tables: Int[Tensor, "count states letters"], words: Int[Tensor, "count word"]) -> Int[Tensor, "count longer"]:
    """The states that each automaton visits on its word, the start state 0 first."""
    each = torch.arange(len(tables), device=tables.device)
    visited = [torch.zeros_like(each)]
    for letter in words.mT:
        visited.append(tables[each, visited[-1], letter])
    return torch.stack(visited, dim=1)
