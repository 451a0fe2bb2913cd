from itertools import product

import pytest

from attention_theory.linear_attention.machines.if_then import if_then, if_then_program, if_then_prompt
from attention_theory.linear_attention.machines.programs import read_tokens, run_heads, run_program


@pytest.mark.parametrize("cases", [1, 2, 3])
def test_the_lookups_do_what_the_conditions_do(cases: int) -> None:
    program = if_then_program(1, cases, letters=4, outcomes=2)
    for test, *outcomes in product(range(4), *[range(2)] * cases):
        prompt = if_then_prompt([test], list(range(cases)), outcomes)
        expected = if_then(prompt | {"x": test}, cases)
        assert expected == ({"x'": outcomes[test]} if test < cases else {})
        run = read_tokens(*run_heads(program, [prompt], cases + 1))
        assert run == run_program(program, [prompt], cases + 1)
        assert run[-1].get("x'.0") == expected.get("x'")


def test_nothing_is_carried_in_print() -> None:
    """The second case and the letter are read from a token that does not have them."""
    run = read_tokens(*run_heads(if_then_program(1, 2, 3, 2, form="printed"), [if_then_prompt([0], [0, 1], [1, 0])], 3))
    assert run[1] == {"position": 1, "s0.0": 0, "s1.0": 1}
    assert run[2] == {"position": 2}
    assert run[3] == {"position": 3}


def test_blocks_in_turn_need_rows_of_their_own() -> None:
    prompt = if_then_prompt([0, 1], [0, 1], [1, 0])
    run = read_tokens(*run_heads(if_then_program(2, 2, 2, 2), [prompt], 6))
    assert run[3]["x'.0"] == 1
    assert run[6]["x'.1"] == 0
    shared, rows = run_heads(if_then_program(2, 2, 2, 2, rows="shared"), [prompt], 6)
    assert shared[6, rows["x'.1"]].tolist() == [2, 0]
