"""The task of Section 6.3: strings that hold an automaton, a word, and the automaton's run on the word."""

from collections.abc import Collection
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.randomness import Seed, generator
from attention_theory.validation import Each, refuse_unless, require, require_shape


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
    count: int, form: StringForm, seed: Seed
) -> tuple[Int[Tensor, "count states letters"], Int[Tensor, "count word"]]:
    """Transition functions and words, every entry drawn evenly.

    Raises:
        ParameterError: a count below 1.
    """
    require(count=(count, 1, None))
    draws = generator(seed)
    tables = torch.randint(form.states, (count, form.states, form.letters), generator=draws)
    return tables, torch.randint(form.letters, (count, form.word), generator=draws)


#: All tables of a form fall into this many parts, so that some can be kept from training.
PARTS = 4
_PRIME = 2**31 - 1
_MOST_DRAWS = 1000


def part_of(tables: Int[Tensor, "count states letters"], seed: int = 0) -> Int[Tensor, " count"]:
    """The part, 0 to ``PARTS - 1``, that each table belongs to: a random linear hash of its entries.

    Equal tables are always in the same part, and about as many tables are in each.
    """
    weights = torch.randint(1, _PRIME, tables.shape[1:], generator=generator(seed), device="cpu").to(tables.device)
    return (tables * weights).sum(dim=(1, 2)) % _PRIME % PARTS


def automata_of_parts(
    parts: Collection[int], count: int, form: StringForm, draws: torch.Generator, seed: int = 0
) -> tuple[Int[Tensor, "count states letters"], Int[Tensor, "count word"]]:
    """As :func:`random_automata`, with tables of the given parts only; ``seed`` is that of :func:`part_of`.

    Raises:
        ParameterError: no part is given, or these parts hold no table of this form, or too few to be met.
    """
    require(parts=(Each(parts), 0, PARTS - 1))
    tables, words = [], []
    found = tries = 0
    while found < count:
        drawn, read = random_automata(count, form, draws)
        kept = torch.isin(part_of(drawn, seed), torch.tensor(list(parts), device=drawn.device))
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


def write_strings(
    tables: Int[Tensor, "count states letters"],
    words: Int[Tensor, "count word"],
    form: StringForm,
    shown: Int[Tensor, "count states letters"] | None = None,
) -> Int[Tensor, "count length"]:
    """The strings for given automata and words.

    Args:
        tables: the transition functions that make the histories.
        words: the words.
        form: the layout; words and tables must fit it.
        shown: tables to write into the prompt instead, e.g. those of other automata.

    Raises:
        ParameterError: a table or word of another size.
    """
    count, states, letters = tables.shape
    require_shape(tables=(tables, (None, form.states, form.letters)), words=(words, (None, form.word)))
    shown = tables if shown is None else shown
    state = torch.arange(states, device=tables.device)[:, None].expand(count, states, letters).flatten(1)
    letter = torch.arange(letters, device=tables.device).expand(count, states, letters).flatten(1)
    visited = runs(tables, words)
    bar = torch.full((count, 1), form.vocabulary - 1, device=tables.device)
    return torch.cat(
        [
            _triplets(state, letter, shown.flatten(1), form),
            bar,
            words + states,
            bar,
            _triplets(visited[:, :-1], words, visited[:, 1:], form),
        ],
        dim=1,
    )


@dataclass(frozen=True)
class StringParts:
    """What one string says.

    Attributes:
        table: the next state, by state and letter.
        word: the letters.
        history: for each letter the state before, the letter and the state after.
    """

    table: dict[tuple[int, int], int]
    word: list[int]
    history: list[tuple[int, int, int]]


def read_string(string: Int[Tensor, " length"], form: StringForm) -> StringParts:
    """Table, word and history of one string, token by token: the reference for :func:`write_strings`.

    Raises:
        ValueError: a token that is not what its place asks for.
    """
    tokens = string.tolist()
    opening, closing, bar = (form.states + form.letters + kind for kind in range(3))

    def triplet(start: int) -> tuple[int, int, int]:
        first, before, letter, after, last = tokens[start : start + 5]
        if (first, last) != (opening, closing) or max(before, after) >= form.states or letter < form.states:
            raise ValueError(f"no triplet at {start}: {tokens[start : start + 5]}")
        return before, letter - form.states, after

    if len(tokens) != form.length or tokens[form.table] != bar or tokens[form.prompt - 1] != bar:
        raise ValueError(f"a string of this form has {form.length} tokens and two bars, not {tokens}")
    table = {(before, letter): after for before, letter, after in map(triplet, range(0, form.table, 5))}
    word = [token - form.states for token in tokens[form.table + 1 : form.prompt - 1]]
    return StringParts(table, word, [triplet(start) for start in range(form.prompt, form.length, 5)])


def _triplets(before: Tensor, letter: Tensor, after: Tensor, form: StringForm) -> Int[Tensor, "count tokens"]:
    opening = torch.full_like(before, form.states + form.letters)
    return torch.stack([opening, before, letter + form.states, after, opening + 1], dim=-1).flatten(1)
