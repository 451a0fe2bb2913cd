"""A weight of a head that a small machine has is off by 1: its certificate fails.

Weights are whole numbers, so this is the smallest step. Of an automaton's heads every weight is tried, and of a
lookup's random ones.
"""

import random
from dataclasses import replace

import pytest

from attention_theory.linear_attention.certified.small_machines import certify_automata, certify_lookups
from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor
from attention_theory.linear_attention.machines.block_heads import BlockHead
from attention_theory.linear_attention.machines.programs import LookupProgram
from attention_theory.validation import Form

HEADS = AutomatonExecutor(2, 2, 1).heads


def moved(heads: list[BlockHead], place: int, weight: int, off: int) -> list[BlockHead]:
    """The heads with one weight more or less by 1."""
    weights = heads[place].weights.clone()
    weights[weight] += off
    return [*heads[:place], replace(heads[place], weight=weights), *heads[place + 1 :]]


def without_query(place: int, query: int) -> list[BlockHead]:
    """The heads with a 0 in place of a 1 in Q."""
    head = HEADS[place]
    kept = [number for number in range(len(head.source)) if number != query]
    return [*HEADS[:place], replace(head, source=head.source[kept], key=head.key[kept]), *HEADS[place + 1 :]]


def test_each_weight_of_an_automaton_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = [without_query(place, query) for place, head in enumerate(HEADS) for query in range(len(head.source))]
    for place, head in enumerate(HEADS):
        changed += [moved(HEADS, place, weight, off) for weight in range(len(head.weights)) for off in (-1, 1)]
    for heads in changed:
        monkeypatch.setattr(AutomatonExecutor, "heads", heads)
        assert certify_automata(2, 2, 1).outcome == "refuted"


@pytest.mark.parametrize("seed", range(5))
def test_a_weight_of_a_lookup_is_noticed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = LookupProgram.heads

    def wrong(program: LookupProgram, form: Form = "correct") -> list[BlockHead]:
        heads, draws = exact(program, form), random.Random(seed)
        place = draws.randrange(len(heads))
        return moved(heads, place, draws.randrange(len(heads[place].weights)), draws.choice((-1, 1)))

    monkeypatch.setattr(LookupProgram, "heads", wrong)
    assert certify_lookups().outcome == "refuted"
