"""If-then as lookups (Algorithms 4 and 5)."""

from collections.abc import Sequence
from typing import Literal

from attention_theory.linear_attention.machines.programs import POSITION, Lookup, LookupProgram, Token
from attention_theory.validation import FORMS, Form, require


def if_then(token: Token, cases: int, test: str = "x", result: str = "x'") -> Token:
    """Algorithm 4 on one token: where ``x`` equals ``a_i``, the next token's ``x'`` is ``b_i``.

    The cases are the token's attributes ``a1, b1, ..., ak, bk``. Of cases with one letter the later overwrites the
    earlier, as assignments do; heads add instead (Lemma C.1), so that Algorithm 5 needs cases of different letters.
    """
    new = Token()
    for case in range(1, cases + 1):
        if token.get(test) == token.get(f"a{case}"):
            new[result] = token[f"b{case}"]
    return new


def if_then_program(
    blocks: int,
    cases: int,
    letters: int,
    outcomes: int,
    rows: Literal["private", "shared"] = "private",
    form: Form = "correct",
) -> LookupProgram:
    """Algorithm 5, once for each of several blocks that follow each other.

    Block m tests the attribute ``x.m`` of the first token against ``a1`` to ``ak`` and writes ``x'.m`` into token
    ``m (k + 1)``. Over k tokens it sets out a table, ``s0.m`` as key and ``s1.m`` as value, carries ``x.m`` along, and
    then looks it up. Each block has rows of its own; with ``rows="shared"`` all blocks write into one table.

    ``form="printed"`` reads ``a_i``, ``b_i`` and ``x`` from the token before, as Algorithm 5 does, and carries nothing.

    Raises:
        ParameterError: a number below 1.
    """
    require(blocks=(blocks, 1, None), cases=(cases, 1, None), letters=(letters, 1, None), outcomes=(outcomes, 1, None))
    require(rows=(rows, {"private", "shared"}), form=(form, FORMS))
    alphabets = {POSITION: blocks * (cases + 1) + 1}
    lookups: list[Lookup] = []
    for case in range(1, cases + 1):
        alphabets |= {f"a{case}": letters, f"b{case}": outcomes}
    for block in range(blocks):
        table = "" if rows == "shared" else f".{block}"
        key, value = f"s0{table}", f"s1{table}"
        alphabets |= {key: letters, value: outcomes, f"x.{block}": letters, f"carried.{block}": letters}
        alphabets |= {f"x'.{block}": outcomes}
        start = block * (cases + 1)
        for case in range(1, cases + 1):
            read = start + case - 1 if form == "printed" else 0
            lookups += [_copied(start + case, f"a{case}", key, read), _copied(start + case, f"b{case}", value, read)]
        if form == "correct":
            lookups.append(_copied(start + cases, f"x.{block}", f"carried.{block}", 0))
        asking = f"x.{block}" if form == "printed" else f"carried.{block}"
        lookups.append(Lookup(asking, key, value, f"x'.{block}"))
    return LookupProgram(alphabets, lookups)


def if_then_prompt(tests: Sequence[int], keys: Sequence[int], outcomes: Sequence[int]) -> Token:
    """The first token of :func:`if_then_program`: one tested letter a block, and the cases."""
    token = {POSITION: 0} | {f"x.{block}": letter for block, letter in enumerate(tests)}
    for case, (key, outcome) in enumerate(zip(keys, outcomes, strict=True), start=1):
        token |= {f"a{case}": key, f"b{case}": outcome}
    return token


def _copied(place: int, value: str, destination: str, read: int) -> Lookup:
    """Token ``place`` gets an attribute of token ``read``; only the token before it may ask."""
    return Lookup(POSITION, POSITION, value, destination, query={place - 1: read})
