"""Programs of lookups over tokens with attributes, and their compilation to heads (Algorithm 3, Lemma C.1).

A token holds some of the attributes of its class, each a letter of the attribute's own alphabet; an attribute that a
token does not hold is the paper's ``None`` and the zero vector of the attribute's rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Int, Num
from torch import Tensor

from attention_theory.linear_attention.machines.block_heads import BlockHead, BlockLayer
from attention_theory.rows import Rows
from attention_theory.validation import FORMS, Form, refuse_unless, require

#: A token as an object: letter by attribute.
Token = dict[str, int]

#: A partial function between alphabets; ``None`` is the identity.
_Function = Mapping[int, int] | None

#: The attribute that numbers tokens; line 5 of Algorithm 3 writes it.
POSITION = "position"


@dataclass(frozen=True)
class Lookup:
    """One lookup: the last token's ``source`` is a query for a ``key``; its ``value`` is written to ``destination``.

    Attributes:
        query: B_Q, from source letters to key letters.
        write: B_V, from value letters to destination letters.
    """

    source: str
    key: str
    value: str
    destination: str
    query: _Function = None
    write: _Function = None

    @classmethod
    def copy(cls, offset: int, value: str, destination: str, positions: int) -> Self:
        """The lookup by position ``obj[r+1].destination = obj[r-offset].value``.

        Raises:
            ParameterError: an offset that no position has.
        """
        require(offset=(offset, 0, positions - 1))
        query = {place: place - offset for place in range(offset, positions)}
        return cls(POSITION, POSITION, value, destination, query=query)


class AmbiguousLookup(Exception):
    """Two tokens answer one query, or two lookups write one attribute: the program has no single next token."""


@dataclass(frozen=True)
class LookupProgram:
    """An autoregressive program: the alphabet size of every attribute, and the lookups made for every new token.

    A program with the attribute ``position`` numbers its tokens: each new token has the position after the last one.

    Raises:
        ParameterError: a lookup of an attribute that has no alphabet.
    """

    alphabets: dict[str, int]
    lookups: Sequence[Lookup]

    def __post_init__(self) -> None:
        for lookup in self.lookups:
            for attribute in (lookup.source, lookup.key, lookup.value, lookup.destination):
                refuse_unless(
                    attribute in self.alphabets,
                    f"lookups must name attributes of the alphabets {sorted(self.alphabets)}, got {attribute!r}",
                )

    @property
    def rows(self) -> Rows:
        """The rows of each attribute in an embedded token."""
        return Rows(**self.alphabets)

    def next_token(self, tokens: Sequence[Token], form: Form = "correct") -> Token:
        """One pass of lines 4 to 16 of Algorithm 3 on objects.

        ``form="printed"`` lets a lookup overwrite what another one wrote, as line 14 does; no heads do that.

        Raises:
            AmbiguousLookup: a key that two tokens hold, where the paper's lookup would return a sum; and, unless
                printed, a second value for one attribute.
            ParameterError: an unknown form.
        """
        require(form=(form, FORMS))
        last, new = tokens[-1], Token()
        if POSITION in self.alphabets:
            new[POSITION] = last[POSITION] + 1
        for lookup in self.lookups:
            query = _apply(lookup.query, last.get(lookup.source))
            if query is None:
                continue
            values = [
                token[lookup.value] for token in tokens if token.get(lookup.key) == query and lookup.value in token
            ]
            if len(values) > 1 or (form == "correct" and values and lookup.destination in new):
                raise AmbiguousLookup(f"{lookup} finds {values} at a token that holds {new}")
            for value in values:
                letter = _apply(lookup.write, value)
                if letter is not None:
                    new[lookup.destination] = letter
        return new

    def run(self, prompt: Sequence[Token], steps: int) -> list[Token]:
        """The prompt with ``steps`` more tokens, on objects.

        Raises:
            ParameterError: steps below 0.
        """
        require(steps=(steps, 0, None))
        tokens = list(prompt)
        for _ in range(steps):
            tokens.append(self.next_token(tokens))
        return tokens

    def heads(self, form: Form = "correct") -> list[BlockHead]:
        """The heads that do what the program does, one per lookup (Lemma C.1).

        The block ``B_Q`` is in the key rows and source columns of ``Q``, and ``B_V`` in the destination rows and value
        columns of ``V``. ``form="printed"`` puts them where the proof says: ``V`` gets a block in the source rows and
        key columns, ``Q`` one in the value rows and destination columns. A numbered program has one head more: the
        last token finds itself and its position is moved on by one.

        Raises:
            ParameterError: an unknown form, or an attribute without letters.
        """
        require(form=(form, FORMS))
        heads = [self._head(lookup, form) for lookup in self.lookups]
        if POSITION in self.alphabets:
            position = self.rows.indices(POSITION)
            heads.append(BlockHead(source=position, key=position, value=position[:-1], destination=position[1:]))
        return heads

    def embed(self, tokens: Sequence[Token], dtype: torch.dtype = torch.int8) -> Num[Tensor, "tokens width"]:
        """Tokens as vectors: for every attribute a one in the row of its letter."""
        rows = self.rows
        embedded = torch.zeros(len(tokens), rows.size, dtype=dtype)
        for place, token in enumerate(tokens):
            for attribute, letter in token.items():
                embedded[place, rows[attribute][letter]] = 1
        return embedded

    def read(self, embedded: Int[Tensor, "tokens width"]) -> list[Token]:
        """The tokens of given vectors: the inverse of :meth:`embed`.

        Raises:
            ValueError: an attribute's rows hold neither zero nor a single one.
        """
        tokens, rows = [Token() for _ in embedded], self.rows
        for attribute in rows.blocks:
            part = rows.view(embedded, attribute)
            if ((part != 0) & (part != 1)).any() or (part.sum(dim=1) > 1).any():
                raise ValueError(f"the rows of '{attribute}' do not hold a letter or nothing")
            for place, letter in part.nonzero().tolist():
                tokens[place][attribute] = letter
        return tokens

    def run_heads(self, prompt: Sequence[Token], steps: int, form: Form = "correct") -> Int[Tensor, "tokens width"]:
        """The prompt with ``steps`` more tokens, by the heads; :meth:`read` gives the tokens."""
        return BlockLayer(self.heads(form), self.rows.size).run(self.embed(prompt)[None], steps)[0]

    def _head(self, lookup: Lookup, form: Form) -> BlockHead:
        rows, size = self.rows, self.alphabets
        asked_from, asked_for = _pairs(lookup.query, size[lookup.source], size[lookup.key])
        read, written = _pairs(lookup.write, size[lookup.value], size[lookup.destination])
        source, key = rows.indices(lookup.source)[asked_from], rows.indices(lookup.key)[asked_for]
        value, destination = rows.indices(lookup.value)[read], rows.indices(lookup.destination)[written]
        if form == "printed":
            return BlockHead(source=destination, key=value, value=key, destination=source)
        return BlockHead(source=source, key=key, value=value, destination=destination)


def _apply(function: _Function, letter: int | None) -> int | None:
    return letter if function is None or letter is None else function.get(letter)


def _pairs(function: _Function, domain: int, image: int) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"]]:
    """The graph of a function as two lists of letters; the identity reaches as far as the smaller alphabet."""
    graph = {letter: letter for letter in range(min(domain, image))} if function is None else function
    return torch.tensor(list(graph.keys())), torch.tensor(list(graph.values()))
