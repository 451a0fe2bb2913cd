"""Small programs of lookups: tables and walks for Lemma C.1 and Algorithm 3, and if-then (Algorithms 4 and 5)."""

from collections.abc import Sequence
from typing import Literal

import torch

from attention_theory.linear_attention.machines.programs import POSITION, Lookup, LookupProgram, Token
from attention_theory.randomness import Seed, generator
from attention_theory.validation import FORMS, Each, Form, require


def random_table(sizes: tuple[int, int, int, int], seed: Seed) -> tuple[LookupProgram, list[Token]]:
    """A program of one lookup with random ``B_Q`` and ``B_V``, and a prompt with a table and a question.

    Args:
        sizes: letters of the source, key, value and destination attributes, at least 1 each.
        seed: draws both functions, the values in the table and the letter that asks.

    Returns:
        the program; and a prompt with one token for every key, in order, and a last token that asks.

    Raises:
        ParameterError: an alphabet without letters.
    """
    require(sizes=(Each(sizes), 1, None))
    draws = generator(seed)
    sources, keys, values, destinations = sizes
    query = dict(enumerate(_letters(sources, keys, draws)))
    write = dict(enumerate(_letters(values, destinations, draws)))
    alphabets = dict(zip(("source", "key", "value", "destination"), sizes, strict=True))
    program = LookupProgram(alphabets, [Lookup("source", "key", "value", "destination", query, write)])
    table = [Token(key=key, value=value) for key, value in enumerate(_letters(keys, values, draws))]
    return program, [*table, Token(source=_letters(1, sources, draws)[0])]


def walk_program(nodes: int, marks: int, positions: int) -> LookupProgram:
    """A walk along arrows that writes down the mark of every node it leaves, and repeats the mark before that.

    The prompt's tokens hold an arrow each: a ``node``, the node it ``points`` to and its ``label``. A walking token
    holds the node ``here``, the ``mark`` of the node just left and the mark ``before`` it.
    """
    return LookupProgram(
        {
            POSITION: positions,
            "node": nodes,
            "points": nodes,
            "label": marks,
            "here": nodes,
            "mark": marks,
            "before": marks,
        },
        [
            Lookup("here", "node", "points", "here"),
            Lookup("here", "node", "label", "mark"),
            Lookup.copy(0, "mark", "before", positions),
        ],
    )


def random_walk_prompt(nodes: int, marks: int, seed: Seed) -> list[Token]:
    """One token for every node, with its arrow and label, and a token that stands on a random node.

    The arrows are a random permutation of the nodes, so that a walk goes round a cycle; the labels are free.

    Raises:
        ParameterError: nodes or marks below 1.
    """
    require(nodes=(nodes, 1, None), marks=(marks, 1, None))
    draws = generator(seed)
    arrows = torch.randperm(nodes, generator=draws).tolist()
    labels = _letters(nodes, marks, draws)
    table = [
        {POSITION: node, "node": node, "points": arrow, "label": label}
        for node, (arrow, label) in enumerate(zip(arrows, labels, strict=True))
    ]
    return [*table, {POSITION: nodes, "here": _letters(1, nodes, draws)[0]}]


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
    then looks it up. With ``rows="shared"`` all blocks write into one table.

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
    """The first token of :func:`if_then_program`: the tested letter of each block, and the cases."""
    token = {POSITION: 0} | {f"x.{block}": letter for block, letter in enumerate(tests)}
    for case, (key, outcome) in enumerate(zip(keys, outcomes, strict=True), start=1):
        token |= {f"a{case}": key, f"b{case}": outcome}
    return token


def _copied(place: int, value: str, destination: str, read: int) -> Lookup:
    """Token ``place`` gets an attribute of token ``read``; only the token before it may ask."""
    return Lookup(POSITION, POSITION, value, destination, query={place - 1: read})


def _letters(count: int, alphabet: int, draws: torch.Generator) -> list[int]:
    letters: list[int] = torch.randint(alphabet, (count,), generator=draws).tolist()
    return letters
