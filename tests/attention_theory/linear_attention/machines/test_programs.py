from dataclasses import replace

import pytest

from attention_theory.linear_attention.machines.programs import AmbiguousLookup, Form, Lookup, LookupProgram, Token

ALPHABETS = {"source": 3, "key": 4, "value": 5, "destination": 2}


def table_program(query: list[int], write: list[int]) -> LookupProgram:
    lookup = Lookup("source", "key", "value", "destination", dict(enumerate(query)), dict(enumerate(write)))
    return LookupProgram(ALPHABETS, [lookup])


def run_compiled(program: LookupProgram, prompt: list[Token], steps: int, form: Form = "correct") -> list[Token]:
    return program.read(program.run_heads(prompt, steps, form))


def test_copies_and_positions() -> None:
    program = LookupProgram({"position": 6, "letter": 4}, [Lookup.copy(1, "letter", "letter", 6)])
    prompt: list[Token] = [{"position": 0, "letter": 2}, {"position": 1, "letter": 3}]
    expected = program.run(prompt, 4)
    assert [token["letter"] for token in expected] == [2, 3, 2, 3, 2, 3]
    assert run_compiled(program, prompt, 4) == expected


def test_duplicate_keys_are_a_sum_for_heads_and_refused_by_the_program() -> None:
    program = table_program([0, 1, 2], [0, 0, 0, 0, 0])
    prompt: list[Token] = [{"key": 1, "value": 0}, {"key": 1, "value": 2}, {"source": 1}]
    with pytest.raises(AmbiguousLookup):
        program.next_token(prompt)
    run = program.run_heads(prompt, 1)
    assert run[-1, program.rows["destination"]].tolist() == [2, 0]
    with pytest.raises(ValueError, match="destination"):
        program.read(run)


def test_two_values_for_one_attribute_are_refused_or_the_later_one_stands() -> None:
    lookup = Lookup("source", "key", "value", "value", {0: 0})
    program = LookupProgram({"source": 1, "key": 2, "value": 2}, [lookup, replace(lookup, query={0: 1})])
    prompt: list[Token] = [{"key": 0, "value": 0}, {"key": 1, "value": 1}, {"source": 0}]
    with pytest.raises(AmbiguousLookup):
        program.next_token(prompt)
    assert program.next_token(prompt, form="printed") == {"value": 1}
    assert program.run_heads(prompt, 1)[-1, -2:].tolist() == [1, 1]
