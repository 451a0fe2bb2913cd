"""The certificate of the compiler's rules, and that it notices a wrong one."""

import contextlib
from collections.abc import Iterator

import pytest

from attention_theory.looped_transformers.certified.compiler import certify_rules
from attention_theory.looped_transformers.compiler import fleq, subleq
from attention_theory.looped_transformers.compiler.program import Target
from attention_theory.validation import ParameterError


@pytest.fixture
def rules() -> Iterator[dict[str, str]]:
    """The rules, put back after the test."""
    kept = dict(subleq.RULES)
    yield subleq.RULES
    subleq.RULES.update(kept)


@pytest.mark.parametrize("target", ["subleq", "fleq"])
def test_every_rule_is_proved(target: Target) -> None:
    assert certify_rules(6, target).settled


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["subleq", "fleq"])
def test_every_rule_is_proved_for_eight_bits(target: Target) -> None:
    assert certify_rules(8, target).settled


@pytest.mark.parametrize(("name", "other"), [("add", "sub"), ("mul", "add"), ("floordiv", "mod"), ("le", "lt")])
def test_a_wrong_block_is_refuted(monkeypatch: pytest.MonkeyPatch, name: str, other: str) -> None:
    for table in ("_OPERATORS", "_RELATIONS"):
        blocks = {sign: other if block == name else block for sign, block in vars(fleq)[table].items()}
        monkeypatch.setattr(fleq, table, blocks)
    assert not certify_rules(4, "fleq").settled


@pytest.mark.parametrize(
    ("name", "statement", "wrong"),
    [
        ("add", "P -= B", "P -= A"),
        ("equal", "goto L", "goto .no"),
        ("at most", "goto .near", "goto .no"),
        ("at most", "B -= minus_one if <= 0 goto .less", "B -= minus_one"),
        ("multiply", "P -= A", "P -= B"),
        ("divide", "T -= minus_one\n", "T -= zero\n"),
        ("quotient", "D -= {1}", "D -= zero"),
        ("remainder", "Q -= minus_one if <= 0 goto .rest", "goto .rest"),
    ],
)
def test_a_wrong_rule_is_refuted(rules: dict[str, str], name: str, statement: str, wrong: str) -> None:
    assert statement in rules[name]
    rules[name] = rules[name].replace(statement, wrong, 1)
    with contextlib.suppress(ParameterError):  # a program that no longer ends
        assert not certify_rules(4).settled
