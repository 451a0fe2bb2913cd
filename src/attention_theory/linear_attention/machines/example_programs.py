"""Small programs of lookups on which Lemma C.1 and Algorithm 3 are run."""

import torch

from attention_theory.linear_attention.machines.programs import POSITION, Lookup, LookupProgram, Token, copy
from attention_theory.randomness import Seed, generator
from attention_theory.validation import Each, require


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
            copy(0, "mark", "before", positions),
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


def _letters(count: int, alphabet: int, draws: torch.Generator) -> list[int]:
    letters: list[int] = torch.randint(alphabet, (count,), generator=draws).tolist()
    return letters
