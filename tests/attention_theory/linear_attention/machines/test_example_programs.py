from itertools import pairwise, product

import pytest

from attention_theory.linear_attention.machines.example_programs import (
    if_then,
    if_then_program,
    if_then_prompt,
    random_table,
    random_walk_prompt,
    walk_program,
)


@pytest.mark.parametrize("seed", range(20))
def test_random_tables_are_executed(seed: int) -> None:
    program, prompt = random_table((3, 4, 5, 2), seed)
    assert len(prompt) == 5
    expected = program.run(prompt, 1)
    assert set(expected[-1]) == {"destination"}
    assert program.read(program.run_heads(prompt, 1)) == expected


def test_a_walk_follows_the_arrows() -> None:
    program, prompt = walk_program(4, 3, 16), random_walk_prompt(4, 3, seed=1)
    run = program.run(prompt, 8)
    for past, now in pairwise(run[4:]):
        assert now["here"] == prompt[past["here"]]["points"]
        assert now["mark"] == prompt[past["here"]]["label"]
        assert now.get("before") == past.get("mark")
    assert program.read(program.run_heads(prompt, 8)) == run


@pytest.mark.parametrize("cases", [1, 2, 3])
def test_the_lookups_do_what_the_conditions_do(cases: int) -> None:
    program = if_then_program(1, cases, letters=4, outcomes=2)
    for test, *outcomes in product(range(4), *[range(2)] * cases):
        prompt = if_then_prompt([test], list(range(cases)), outcomes)
        expected = if_then(prompt | {"x": test}, cases)
        assert expected == ({"x'": outcomes[test]} if test < cases else {})
        run = program.read(program.run_heads([prompt], cases + 1))
        assert run == program.run([prompt], cases + 1)
        assert run[-1].get("x'.0") == expected.get("x'")
