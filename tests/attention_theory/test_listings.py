"""Texts of programs: each is read, or refused in the same words, here and in the browser (``test_instruments.py``)."""

import json
from pathlib import Path
from typing import Any

import pytest

from attention_theory._listings import program_lines
from attention_theory.linear_attention.machines.turing import parse_machine
from attention_theory.looped_transformers.fleq.assembler import assemble as assemble_fleq
from attention_theory.looped_transformers.machine.listing import AssemblyError
from attention_theory.looped_transformers.subleq.assembler import assemble
from attention_theory.validation import ParameterError

TEXTS: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[1] / "program_texts.json").read_text(encoding="utf-8")
)


def subleq(text: str) -> dict[str, Any]:
    """A program as the list has it, or the words in which it is refused; the browser gives no hint."""
    try:
        made = assemble(text)
    except AssemblyError as fault:
        return {"text": text, "fault": str(fault).partition("; did you mean")[0]}
    return {"text": text, "memory": list(made.memory), "code": [list(one) for one in made.code]}


def turing(text: str) -> dict[str, Any]:
    """A machine likewise."""
    try:
        made = parse_machine(text)
    except ParameterError as fault:
        return {"text": text, "fault": str(fault)}
    return {"text": text, "states": [*made.states], "letters": [*made.letters], "table": made.table.tolist()}


@pytest.mark.parametrize("case", TEXTS["subleq"], ids=lambda case: ascii(case["text"]))
def test_subleq_texts_are_read_as_in_the_browser(case: dict[str, Any]) -> None:
    assert subleq(case["text"]) == case


@pytest.mark.parametrize("case", TEXTS["turing"], ids=lambda case: ascii(case["text"]))
def test_rules_of_turing_machines_are_read_as_in_the_browser(case: dict[str, Any]) -> None:
    assert turing(case["text"]) == case


def test_lines_end_where_every_editor_ends_them() -> None:
    assert [*program_lines("a\n\r\n b # c\u2028d\re")] == [(1, "a"), (3, "b"), (4, "e")]
    with pytest.raises(ParameterError, match=r"line 2: the invisible character U\+000B"):
        [*program_lines("a\nb\x0bc")]


@pytest.mark.parametrize("statement", ["\ufeffhalt", "halt\u2028", "\u00e4 = add(x, x)", "x = add(x, x) width \u0661"])
def test_fleq_texts_have_the_same_alphabet(statement: str) -> None:
    with pytest.raises(AssemblyError, match=r"line 1: (the invisible character|cannot read)"):
        assemble_fleq(f"{statement}\nhalt", {"x": 1.0}, 3)
