"""Finite automata of several letters, run by one set of heads of linear attention (the abstract; Section 5).

A deterministic automaton is a table δ(state, letter). Its prompt holds a token for every state s, with ``δ(s, a)`` for
all letters a; a token for every place of the word, with its letter; and a last token with the start state and the place
0. Two tokens are written for every letter of the word:

* from the state s and the place i, the *found* token: ``δ(s, a)`` for all a, and the letter at place i, in rows that
  no other place has;
* from it, the *state* token: ``δ(s, w_i)`` and the place i + 1.

These are ``v + 3`` heads for v letters, for all automata and words within the bounds. All entries of tokens are 0 or 1.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.linear_attention.machines.block_heads import BlockHead, BlockLayer
from attention_theory.linear_attention.model.rounding import read_letter, round_token
from attention_theory.rows import Rows
from attention_theory.validation import Each, require, require_shape


@dataclass(frozen=True)
class AutomatonExecutor:
    """All automata with given numbers of states and letters, on all words of one length.

    Args:
        states: q, at least 1.
        letters: v, at least 1.
        word: L, the length of a word, at least 1.

    Raises:
        ParameterError: a number below 1.
    """

    states: int
    letters: int
    word: int

    def __post_init__(self) -> None:
        require(states=(self.states, 1, None), letters=(self.letters, 1, None), word=(self.word, 1, None))

    @cached_property
    def rows(self) -> Rows:
        """The rows of a token by name; ``found`` and ``next`` hold a block of states for each letter."""
        rows = Rows(of=self.states, place=self.word, state=self.states, turn=self.word + 1)
        for letter in range(self.letters):
            rows.add(f"next {letter}", self.states)
            rows.add(f"found {letter}", self.states)
        for place in range(self.word):
            rows.add(f"written {place}", self.letters)
            rows.add(f"read {place}", self.letters)
        return rows

    @property
    def width(self) -> int:
        """d = 2 q (1 + v) + 2 L (1 + v) + 1."""
        return self.rows.size

    @property
    def prompt_tokens(self) -> int:
        return self.states + self.word + 1

    @cached_property
    def heads(self) -> list[BlockHead]:
        """One head for the state, one for the letter, one to go on to the next place, and one for every letter."""
        written, read = self._at("written", self.word), self._at("read", self.word)
        each_read = read.unflatten(0, (self.word, self.letters))
        following = self._row("turn")[1:].repeat_interleave(self.letters)
        return [
            BlockHead(
                self._row("state"), self._row("of"), self._at("next", self.letters), self._at("found", self.letters)
            ),
            BlockHead(self._row("turn")[:-1], self._row("place"), written, read),
            BlockHead(read, read, read, following),
            *(
                BlockHead(each_read[:, letter], each_read[:, letter], self._row(f"found {letter}"), self._row("state"))
                for letter in range(self.letters)
            ),
        ]

    def prompts(
        self,
        tables: Int[Tensor, "runs states letters"],
        words: Int[Tensor, "runs word"],
        starts: Int[Tensor, " runs"],
    ) -> Float[Tensor, "runs tokens width"]:
        """Automata, words and start states as prompts.

        Raises:
            ParameterError: tables or words of other sizes than the bounds, or states and letters that there are not.
        """
        require_shape(tables=(tables, (None, self.states, self.letters)), words=(words, (len(tables), self.word)))
        require_shape(starts=(starts, (len(tables),)))
        require(
            tables=(Each(tables), 0, self.states - 1),
            words=(Each(words), 0, self.letters - 1),
            starts=(Each(starts), 0, self.states - 1),
        )
        device = tables.device
        prompt = torch.zeros(len(tables), self.prompt_tokens, self.width, dtype=torch.float64, device=device)
        run = torch.arange(len(tables), device=device)
        state, place = (torch.arange(count, device=device) for count in (self.states, self.word))
        prompt[:, state, self._row("of", device)] = 1
        prompt[:, self.states + place, self._row("place", device)] = 1
        for letter in range(self.letters):
            prompt[run[:, None], state, self._row(f"next {letter}", device)[tables[:, :, letter]]] = 1
        for number in range(self.word):
            prompt[run, self.states + number, self._row(f"written {number}", device)[words[:, number]]] = 1
        prompt[run, -1, self._row("state", device)[starts]] = 1
        prompt[:, -1, self._row("turn", device)[0]] = 1
        return prompt

    def run(self, prompts: Float[Tensor, "runs tokens width"]) -> Float[Tensor, "runs longer width"]:
        """The prompts with two more tokens for every letter of the word."""
        return BlockLayer(self.heads, self.width).run(prompts, 2 * self.word)

    def states_of(self, histories: Float[Tensor, "runs tokens width"]) -> Int[Tensor, "runs times"]:
        """The states that a history goes through, the start first; -1 where a token holds no state, or several."""
        return read_letter(self.rows.view(histories[:, self.prompt_tokens - 1 :: 2], "state"))

    def read(self, tokens: Float[Tensor, "... width"]) -> Float[Tensor, "... width"]:
        """Tokens rounded attribute by attribute."""
        return round_token(tokens, [self._row(name, tokens.device) for name in self.rows.blocks])

    def _row(self, name: str, device: torch.device | str = "cpu") -> Int[Tensor, " block"]:
        return self.rows.indices(name, device)

    def _at(self, name: str, count: int) -> Int[Tensor, " rows"]:
        return torch.cat([self._row(f"{name} {number}") for number in range(count)])
