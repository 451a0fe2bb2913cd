from itertools import pairwise

import pytest

from attention_theory.linear_attention.machines.example_programs import random_table, random_walk_prompt, walk_program
from attention_theory.linear_attention.machines.programs import read_tokens, run_heads, run_program


@pytest.mark.parametrize("seed", range(20))
def test_random_tables_are_executed(seed: int) -> None:
    program, prompt = random_table((3, 4, 5, 2), seed)
    assert len(prompt) == 5
    expected = run_program(program, prompt, 1)
    assert set(expected[-1]) == {"destination"}
    assert read_tokens(*run_heads(program, prompt, 1)) == expected


def test_a_walk_follows_the_arrows() -> None:
    prompt = random_walk_prompt(4, 3, seed=1)
    run = run_program(walk_program(4, 3, 16), prompt, 8)
    for past, now in pairwise(run[4:]):
        assert now["here"] == prompt[past["here"]]["points"]
        assert now["mark"] == prompt[past["here"]]["label"]
        assert now.get("before") == past.get("mark")
    assert read_tokens(*run_heads(walk_program(4, 3, 16), prompt, 8)) == run
