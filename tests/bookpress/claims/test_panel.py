"""How a settled claim is shown: headings, sentences and tables of evidence that is given by hand."""

from pathlib import Path
from typing import Any

import pytest

from bookpress.claims import panel
from bookpress.claims.evidence import Item, Part, Settled
from bookpress.claims.panel import (
    PROVED_HERE,
    ROWS_SHOWN,
    breaking,
    escape,
    heading,
    mark_in_words,
    outcome,
    panel_block,
    panel_markdown,
    panel_text,
    proof_class,
    proof_in_words,
    result,
    set_label,
    set_number,
    set_powers,
    set_truth,
    verdict_class,
)
from bookpress.claims.registry import ProofMark, Verdict


def item(role: str = "check", passed: bool | None = True, **changes: Any) -> Item:
    values: dict[str, Any] = {
        "role": role,
        "label": f"the {role}",
        "measured": 1,
        "relation": "<",
        "bound": 2,
        "passed": passed,
    }
    return Item(**values | changes)


def settled(*evidence: Item, **changes: Any) -> Settled:
    values: dict[str, Any] = {
        "claim": "demo/x",
        "label": "Lemma 1",
        "verdict": "holds",
        "expected": "holds",
        "evidence": evidence,
    }
    return Settled(**values | changes)


def test_badges_have_a_class_for_each_mark() -> None:
    assert verdict_class(Verdict.HOLDS_WITH_CORRECTION) == "verdict-holds-with-correction"
    assert proof_class(ProofMark.AS_PRINTED) == "proof-as-printed"


@pytest.mark.parametrize(
    ("mark", "own", "words", "sentence"),
    [
        (ProofMark.AS_PRINTED, False, "as printed", "proof as printed"),
        (ProofMark.AS_PRINTED, True, PROVED_HERE, PROVED_HERE),
        (ProofMark.REPAIRED, True, "repaired", "proof repaired"),
        (ProofMark.NOT_CHECKED, False, "not checked", "proof not checked"),
    ],
)
def test_a_proof_of_the_books_own_is_proved_here(mark: ProofMark, own: bool, words: str, sentence: str) -> None:
    assert (mark_in_words(mark, own), proof_in_words(mark, own)) == (words, sentence)


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        (None, "Lemma 1: holds"),
        (ProofMark.NOT_CHECKED, "Lemma 1: holds"),
        (ProofMark.REPAIRED, "Lemma 1: holds · proof repaired"),
        (ProofMark.AS_PRINTED, "Lemma 1: holds · proof as printed"),
    ],
)
def test_the_heading_has_verdict_and_proof(proof: ProofMark | None, said: str) -> None:
    assert heading(settled(proof=proof)) == said


def test_whose_a_claim_is_the_claims_file_says(toy: Any) -> None:
    whole = settled(proof="as printed", claim="demo/lemma-1")
    assert heading(whole).endswith("proof as printed")
    path = toy.layout.claims / "own.yaml"
    path.write_text(
        toy.layout.claims.joinpath("demo.yaml")
        .read_text()
        .replace("name: demo", "name: own")
        .replace("authors: Nobody\ncite: demo\n", "")
    )
    assert heading(settled(proof="as printed", claim="own/lemma-1")).endswith(f"· {PROVED_HERE}")


def test_one_paper_is_read_once(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    heading(settled(proof="as printed", claim="demo/lemma-1"))
    monkeypatch.setattr(panel, "load_paper", lambda _: pytest.fail("it is read again"))
    assert heading(settled(proof="repaired", claim="demo/lemma-1")).endswith("proof repaired")
    assert not panel._is_own(Path("nowhere.yaml"))


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        ([True], "The check passes."),
        ([False], "The check does not pass."),
        ([None], "The check does not pass."),
        ([True, True], "Both checks pass."),
        ([True] * 3, "All 3 checks pass."),
        ([True, False], "Of 2 checks 1 passes."),
        ([True, False, True], "Of 3 checks 2 pass."),
        ([False, None, False], "Of 3 checks 0 pass."),
    ],
)
def test_checks_are_counted(passed: list[bool | None], said: str) -> None:
    assert result(settled(*(item(passed=one) for one in passed))) == said


def test_a_number_with_a_band_is_a_check_and_one_without_is_none() -> None:
    number = item("number", relation="==", within=0.1)
    assert result(settled(number)) == "The check passes."
    assert result(settled(item("number", None, relation="=="), number)) == "The check passes."
    assert result(settled(item("number", None, relation="=="))) == ""


@pytest.mark.parametrize(
    ("controls", "said"),
    [
        ([False], " The control fails, as it must."),
        ([False, False], " The 2 controls fail, as they must."),
        ([False, True], " The control fails, as it must."),
        ([True], ""),
        ([None], ""),
    ],
)
def test_controls_that_fail_are_counted(controls: list[bool | None], said: str) -> None:
    assert result(settled(item(), *(item("control", one) for one in controls))) == f"The check passes.{said}"


@pytest.mark.parametrize(
    ("verdict", "of", "role", "said"),
    [
        ("holds with correction", "statement", "printed", "The printed form fails: the printed 1, which"),
        ("holds", "proof", "printed", "The printed proof fails: the printed 1, which"),
        ("misprinted", "statement", "misprint", "The printed form fails: the misprint 1, which"),
        ("refuted", "statement", "counterexample", "The statement fails on an example: the counterexample 1, which"),
        ("holds", "proof", "counterexample", "The statement fails on an example: the counterexample 1, which"),
        ("partly reproduced", "statement", "printed", "Unlike in the paper: the printed 1, which"),
        ("not reproduced", "statement", "printed", "Unlike in the paper: the printed 1, which"),
        ("partly reproduced", "statement", "misprint", "The printed form fails: the misprint 1, which"),
    ],
)
def test_what_is_printed_and_fails_is_named(verdict: str, of: str, role: str, said: str) -> None:
    whole = settled(item(role, False, of=of, relation=">", measured=1), verdict=verdict)
    assert result(whole) == f"{said} should be above 2."


def test_what_is_printed_and_does_not_fail_is_not_named() -> None:
    whole = settled(item(), item("printed", True), item("misprint", None), item("control", False), item("check", False))
    assert "form" not in result(whole)
    assert breaking(whole, Part.STATEMENT) == breaking(whole, Part.PROOF) == []


def test_all_that_breaks_is_told_by_what_it_speaks_of() -> None:
    whole = settled(
        item("printed", False, label="at n = 2"),
        item("misprint", False, label="sign", of="proof"),
        item("counterexample", False, label="x", measured=True, relation="==", bound=False),
    )
    assert breaking(whole, Part.STATEMENT) == ["at n = 2: 1, which should be below 2", "x: yes, which should be no"]
    assert breaking(whole, Part.PROOF) == ["sign 1, which should be below 2"]


@pytest.mark.parametrize(
    ("role", "passed", "verdict", "said"),
    [
        ("check", True, "holds", "passes"),
        ("check", False, "holds", "**fails**"),
        ("check", None, "holds", "**undecided**"),
        ("control", False, "holds", "fails, as it must"),
        ("control", True, "holds", "**passes, which it must not**"),
        ("control", None, "holds", "**undecided, where it must fail**"),
        ("printed", False, "holds", "fails, as it must"),
        ("printed", False, "partly reproduced", "fails, unlike in the paper"),
        ("printed", False, "not reproduced", "fails, unlike in the paper"),
        ("printed", True, "partly reproduced", "**passes, which it must not**"),
        ("control", False, "partly reproduced", "fails, as it must"),
        ("number", None, "holds", "shown"),
    ],
)
def test_an_outcome_says_whether_it_had_to_be(role: str, passed: bool | None, verdict: str, said: str) -> None:
    assert outcome(item(role, passed), Verdict(verdict)) == said


def test_a_row_has_role_label_value_relation_bound_and_outcome() -> None:
    rows = panel_markdown(
        settled(
            item(relation=">=", bound=0.5, tolerance=0),
            item("printed", False, of="proof", relation="!=", bound=1),
            item("number", None, relation="==", bound=3),
            item("number", None, relation="==", bound=None, measured=12345),
            item("counterexample", False, relation="==", bound=2, tolerance=0.5),
            item("control", False, relation="<=", bound=-1),
        )
    ).split("\n")
    assert rows[2] == "The check passes. The statement fails on an example: the counterexample 1, " + (
        "which should be 2 ± 0.5. The control fails, as it must."
    )
    assert rows[4:] == [
        "| | what is compared | ours | | bound | outcome |",
        "|---|---|---:|:---:|:---|---|",
        "| Check | the check | 1 | ≥ | 0.5 | passes |",
        "| As printed of the proof | the printed | 1 | ≠ | 1 | fails, as it must |",
        "| Number | the number | 1 |  | 3 (printed) | shown |",
        "| Number | the number | 12\u202f345 |  |  | shown |",
        "| Counterexample | the counterexample | 1 | = | 2 ± 0.5 | fails, as it must |",
        "| Control | the control | 1 | ≤ | −1 | fails, as it must |",
    ]


def test_a_panel_for_a_notebook_and_one_for_a_page() -> None:
    whole = settled(item(), stand_in="crops of *photographs*", note="None was seen to_fail.")
    rows = [
        "| | what is compared | ours | | bound | outcome |",
        "|---|---|---:|:---:|:---|---|",
        "| Check | the check | 1 | < | 2 | passes |",
    ]
    remarks = [
        "",
        "*Stand-in:* crops of *photographs*",
        "",
        r"*Undecided at these parameters:* None was seen to\_fail.",
    ]
    above = ["The check passes.", "", *rows]
    assert panel_markdown(whole).split("\n") == ["**Lemma 1: holds**", "", *above, *remarks]
    opening = ["::::::{admonition} Lemma 1: holds", ":class: verdict-panel verdict-holds", ""]
    assert panel_block(whole).split("\n") == [*opening, *above, *remarks, "::::::"]


@pytest.mark.parametrize(("rows", "folded"), [(ROWS_SHOWN, False), (ROWS_SHOWN + 1, True)])
def test_a_panel_of_more_rows_than_a_screen_takes_is_folded(rows: int, folded: bool) -> None:
    whole = settled(*[item()] * rows)
    assert ROWS_SHOWN == 8
    assert (f"<details><summary>All {rows} comparisons</summary>\n\n| |" in panel_markdown(whole)) is folded
    assert panel_markdown(whole).endswith("</details>") is folded
    assert (f":::::{{dropdown}} All {rows} comparisons\n\n| |" in panel_block(whole)) is folded
    assert panel_block(whole).endswith("|\n:::::\n::::::") is folded


def test_a_panel_for_a_terminal() -> None:
    whole = settled(
        item(),
        item("control", True, of="proof"),
        item("misprint", False),
        verdict="undecided here",
        proof="as printed",
        stand_in="crops",
        note="A note.",
    )
    assert panel_text(whole).split("\n") == [
        "demo/x: undecided here; proof as printed (expected: holds)",
        "  check           the check: 1 < 2  [passes]",
        "  control (proof) the control: 1 < 2  [passes, which it must not]",
        "  misprint        the misprint: 1 < 2  [fails, as it must]",
        "  stand-in: crops",
        "  note: A note.",
    ]
    assert panel_text(settled(item())).split("\n") == [
        "demo/x: holds (expected: holds)",
        "  check           the check: 1 < 2  [passes]",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.2e-07", "1.2·10⁻⁷"),
        ("1e-12", "10⁻¹²"),
        ("1e+12", "10¹²"),
        ("-2.5e+03", "−2.5·10³"),
        ("10e3", "10·10³"),
        ("True", "yes"),
        ("False (worst of 2: a)", "no (worst of 2: a)"),
        ("inf", "∞"),
        ("-inf", "−∞"),
        ("infinite", "infinite"),
        ("not True", "not True"),
        ("0.5 (-1 to 2, 9 draws)", "0.5 (−1 to 2, 9 draws)"),
        ("0.5 (worst of 1: n = 4)", "0.5 (n = 4)"),
        ("0.5 (worst of 11: n = 4)", "0.5 (worst of 11: n = 4)"),
        ("a_b", r"a\_b"),
        ("3-2", "3-2"),
        ("x1e5", "x1e5"),
    ],
)
def test_a_number_is_set_as_print_sets_it(text: str, shown: str) -> None:
    assert set_number(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10^6 of x^-12", "10⁶ of x⁻¹²"),
        ("P^T P", "Pᵀ P"),
        ("P^Total", r"P\^Total"),
        ("2^n", r"2\^n"),
        ("at 1e-9", "at 10⁻⁹"),
        ("True is left", "True is left"),
    ],
)
def test_a_label_is_set_as_print_sets_it(text: str, shown: str) -> None:
    assert set_label(text) == shown


def test_text_is_shown_as_it_was_typed() -> None:
    assert escape("a*b_[c] <d> #1 | $x$ ~ ^ & `{}` \\") == (
        r"a\*b\_\[c\] \<d\> \#1 \| \$x\$ \~ \^ \& \`\{\}\` " + "\\\\"
    )
    assert set_powers("from -1 to 1e3, a-1") == "from −1 to 10³, a-1"
    assert set_truth("False") == "no"
