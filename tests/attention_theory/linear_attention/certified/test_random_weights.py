"""A random weight of a head that a small machine has is off by 1: its certificate fails.

Weights are whole numbers, so this is the smallest step. An exhaustion runs every input, so a weight that it does not
notice would change nothing; there is none.
"""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from attention_theory.certificates import Certificate
from attention_theory.linear_attention.certified.small_machines import certify_automata, certify_lookups
from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor
from attention_theory.linear_attention.machines.block_heads import BlockHead
from attention_theory.linear_attention.machines.programs import LookupProgram
from attention_theory.validation import Form


def moved(heads: list[BlockHead], seed: int) -> list[BlockHead]:
    """The heads with one weight more or less by 1."""
    draws = random.Random(seed)
    place = draws.randrange(len(heads))
    weights = heads[place].weights.clone()
    weights[draws.randrange(len(weights))] += draws.choice((-1, 1))
    return [*heads[:place], replace(heads[place], weight=weights), *heads[place + 1 :]]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("machine", "certify"),
    [(AutomatonExecutor, lambda: certify_automata(2, 2, 2)), (LookupProgram, certify_lookups)],
    ids=["automata", "lookups"],
)
def test_a_weight_that_is_off_by_1_is_noticed(
    machine: type, certify: Callable[[], Certificate], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if machine is AutomatonExecutor:
        monkeypatch.setattr(machine, "heads", moved(AutomatonExecutor(2, 2, 2).heads, seed))
    else:
        exact = LookupProgram.heads

        def wrong(program: LookupProgram, form: Form = "correct") -> list[BlockHead]:
            return moved(exact(program, form), seed)

        monkeypatch.setattr(machine, "heads", wrong)
    assert certify().outcome == "refuted"
