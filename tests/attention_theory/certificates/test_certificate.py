from dataclasses import replace

import pytest

from attention_theory.certificates import Answer, Certificate, Control, certify
from attention_theory.certificates.certificate import LONGEST, needs
from attention_theory.validation import ParameterError

PROVED = Answer("x * x >= 0", "proved", "an engine 1.0", 0.5)
REFUTED = Answer("x * x > 0", "refuted", "an engine 1.0", 0.5, {"x": 0})
UNKNOWN = Answer("x ** y > 0", "unknown", "an engine 1.0", 60.0)


def control(answer: Answer = REFUTED, failed: bool = True) -> Control:
    return Control.of("the square may be 0", answer, lambda point: (f"the code gives {point['x'] ** 2}", failed))


def test_a_statement_is_settled_if_it_is_proved_and_its_control_failed() -> None:
    certificate = certify("Squares are not negative.", "all integers", PROVED, control())
    assert certificate.settled
    assert certificate.control.counterexample == "x = 0"
    assert certificate.control.observed == "the code gives 0"


@pytest.mark.parametrize(
    ("answer", "its_control"),
    [
        (UNKNOWN, control()),
        (REFUTED, control()),
        (PROVED, control(PROVED)),
        (PROVED, control(UNKNOWN)),
        (PROVED, control(failed=False)),
    ],
    ids=["unknown", "refuted", "control proved", "control unknown", "code right at the counterexample"],
)
def test_nothing_else_settles_it(answer: Answer, its_control: Control) -> None:
    assert not certify("Squares are not negative.", "all integers", answer, its_control).settled


def test_of_several_questions_all_must_be_proved() -> None:
    assert certify("", "", [PROVED, PROVED], control()).outcome == "proved"
    assert certify("", "", [PROVED, UNKNOWN], control()).outcome == "unknown"
    assert certify("", "", [PROVED, UNKNOWN, REFUTED], control()).outcome == "refuted"
    assert certify("", "", [PROVED, UNKNOWN], control()).seconds == 60.5


def test_of_very_long_questions_a_digest_is_kept_and_scripts_are_whole() -> None:
    short, long = "x" * (LONGEST - len("x >= 0")), "x" * LONGEST
    script = "(check-sat)" + long
    for texts, whole in (([short, "x >= 0"], True), ([long, "x >= 0"], False), ([script], True)):
        kept = certify("", "", [replace(PROVED, question=text) for text in texts], control()).question
        assert (texts[0] in kept) is whole
        assert texts[-1] in kept
        assert ("SHA-256" in kept) is not whole
    assert "SHA-256" in control(replace(REFUTED, question=long + "x")).question


def test_a_counterexample_comes_with_refuted_alone() -> None:
    with pytest.raises(ParameterError, match="counterexample must be"):
        Answer("", "proved", "an engine", 0.0, {"x": 1})
    with pytest.raises(ParameterError, match="counterexample must be"):
        Answer("", "refuted", "an engine", 0.0)


def test_a_certificate_goes_to_text_and_back() -> None:
    certificate = certify("Squares are not negative.", "all integers", PROVED, control())
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_other_text_is_refused() -> None:
    for text in ("{}", "[]", "x", '{"control": {}}'):
        with pytest.raises(ParameterError, match="text must hold"):
            Certificate.from_json(text)


def test_an_engine_that_is_missing_is_named_with_its_extra() -> None:
    with pytest.raises(ImportError, match=r"z3-solver.*\[book\]"), needs("z3-solver"):
        raise ImportError("No module named 'z3'")
