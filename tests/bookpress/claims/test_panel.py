"""How a settled claim is shown: one panel whole, and the parts that depend on what came out."""

from typing import Any

import pytest

from bookpress.claims.evidence import Item, Part, Settled
from bookpress.claims.intervals import estimate
from bookpress.claims.panel import (
    ROWS_SHOWN,
    breaking,
    panel_block,
    panel_markdown,
    panel_text,
    result,
    set_label,
    set_number,
    title_of,
)
from evidence_toys import claim_of


def item(role: str = "check", passed: bool | None = True, **changes: Any) -> Item:
    values = {"role": role, "label": f"the {role}", "measured": 1, "relation": "<", "bound": 2, "passed": passed}
    return Item.model_validate(values | changes)


def settled(*evidence: Item, **changes: Any) -> Settled:
    values = {"claim": "demo/x", "label": "Lemma 1", "verdict": "holds", "expected": "holds", "evidence": evidence}
    return Settled.model_validate(values | changes)


def test_a_whole_panel() -> None:
    claim = claim_of(expected="holds with correction")
    claim.at_most("largest error", {"n = 2": 1e-15, "n = 3": 2e-13}, 1e-12)
    claim.at_least("rate", estimate([1.0, 2.0, 3.0, 2.0]), -1)
    claim.equal("rank of P^T P", 12345, 12345)
    claim.true("a step", True, of="proof")
    claim.control.below("one weight less", 0.25, 1e-9)
    claim.printed.equal("with the printed sign", -0.5, 0.5, tolerance=0.01)
    claim.number("λ_min", 0.061, printed=0.06, within=0.1)
    claim.number("steps", 7)
    claim.stand_in("crops of *photographs*")
    assert panel_markdown(claim.settle()).split("\n") == [
        "**X: stand-in · proof as printed**",
        "",
        "All 5 checks pass. The paper's form fails: for “with the printed sign” we get −0.5, "
        "but it should be 0.5 ± 0.01. The control fails, as it must.",
        "",
        "| | what is compared | ours | | bound | outcome |",
        "|---|---|---:|:---:|:---|---|",
        "| Check | largest error | 2·10⁻¹³ (worst of 2: n = 3) | ≤ | 10⁻¹² | passes |",
        "| Check | rate | 2 (−0.3845 to 4.385, 4 draws) | ≥ | −1 | passes |",
        "| Check | rank of Pᵀ P | 12\u202f345 | = | 12\u202f345 | passes |",
        "| Check of the proof | a step | yes | = | yes | passes |",
        "| Control | one weight less | 0.25 | not < | 10⁻⁹ | fails, as it must |",
        "| Paper's form | with the printed sign | −0.5 | ≠ | 0.5 ± 0.01 | fails, as it must |",
        r"| Number | λ\_min | 0.061 |  | 0.06 ± 10 % (paper) | passes |",
        "| Number | steps | 7 |  |  | shown |",
        "",
        "*Stand-in:* crops of *photographs*",
    ]
    assert panel_text(claim.settle()).split("\n")[0] == (
        "demo/x: stand-in; proof as printed (expected: holds with correction)"
    )


def test_every_form_of_a_panel_has_the_same_table() -> None:
    whole = settled(item(), stand_in="crops", note="None was seen to_fail.")
    body = panel_markdown(whole).partition("\n\n")[2]
    assert panel_block(whole) == (
        f"::::::{{admonition}} Lemma 1: holds\n:class: verdict-panel verdict-holds\n\n{body}\n::::::"
    )
    assert r"None was seen to\_fail." in body
    text = panel_text(whole)
    assert all(part in text for part in ("the check: 1 < 2", "[passes]", "stand-in: crops", "None was seen to_fail."))


@pytest.mark.parametrize(("rows", "folded"), [(ROWS_SHOWN, False), (ROWS_SHOWN + 1, True)])
def test_a_panel_of_more_rows_than_a_screen_takes_is_folded(rows: int, folded: bool) -> None:
    whole = settled(*[item()] * rows)
    assert (f"<details><summary>All {rows} comparisons</summary>\n\n| |" in panel_markdown(whole)) is folded
    assert panel_markdown(whole).endswith("</details>") is folded
    assert (f":::::{{dropdown}} All {rows} comparisons\n\n| |" in panel_block(whole)) is folded
    assert panel_block(whole).endswith("|\n:::::\n::::::") is folded


def test_a_panel_of_the_site_leads_from_a_certificate_to_the_page_of_all() -> None:
    fields = dict.fromkeys(("broken", "question", "counterexample", "observed"), "x")
    control = {**fields, "outcome": "refuted", "failed": True}
    certificate: dict[str, Any] = dict.fromkeys(("statement", "covers", "question", "engine"), "x")
    certificate |= {"seconds": 1.0, "outcome": "proved", "control": control, "whole": False}
    whole = settled(item(certificate=certificate))
    assert "[*For all inputs*](/generated/certificates.md) (x)" in panel_block(whole)
    assert "certificates.md" not in panel_markdown(whole)


def test_a_title_names_the_mark_on_a_proof_that_was_checked() -> None:
    titles = [title_of(settled(proof=mark)) for mark in ("proved here", "repaired", "not checked", None)]
    assert titles == ["Lemma 1: holds · proved here", "Lemma 1: holds · proof repaired", *["Lemma 1: holds"] * 2]


@pytest.mark.parametrize(
    ("verdict", "of", "role", "begin"),
    [
        ("holds with correction", "statement", "printed", "The paper's form fails"),
        ("holds", "proof", "printed", "The paper's proof fails"),
        ("refuted", "statement", "counterexample", "The statement fails on an example"),
        ("partly reproduced", "statement", "printed", "Unlike in the paper"),
    ],
)
def test_the_result_names_the_printed_form_that_fails(verdict: str, of: str, role: str, begin: str) -> None:
    whole = settled(item(role, False, of=of, relation=">"), verdict=verdict)
    assert result(whole) == f"{begin}: for “the {role}” we get 1, but it should be above 2."


@pytest.mark.parametrize(("role", "words"), [("control", "**passes, which it must not**"), ("printed", "passes here")])
def test_a_printed_form_may_pass_where_a_control_may_not(role: str, words: str) -> None:
    """At a reader's own parameters the statement then simply holds; a control that passes leaves it undecided."""
    assert panel_markdown(settled(item(role))).endswith(f"| {words} |")


def test_all_that_breaks_is_listed_by_statement_and_proof() -> None:
    whole = settled(
        item("printed", False, label="at n = 2"),
        item("misprint", False, label="sign", of="proof"),
        item("counterexample", False, label="x", measured=True, relation="==", bound=False),
    )
    assert breaking(whole, Part.STATEMENT) == [
        "for “at n = 2” we get 1, but it should be below 2",
        "for “x” we get yes, but it should be no",
    ]
    assert breaking(whole, Part.PROOF) == ["for “sign” we get 1, but it should be below 2"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.2e-07", "1.2·10⁻⁷"),
        ("1e-12", "10⁻¹²"),
        ("-2.5e+03", "−2.5·10³"),
        ("False (worst of 2: a)", "no (worst of 2: a)"),
        ("-inf", "−∞"),
        ("Infinity", "∞"),
        ("not True", "not True"),
        ("0.5 (-1 to 2, 9 draws)", "0.5 (−1 to 2, 9 draws)"),
        ("0.5 (worst of 1: n = 4)", "0.5 (n = 4)"),
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
        (r"a*b_[c] <d> #1 | $x$ ~ ^ & `{}`", r"a\*b\_\[c\] \<d\> \#1 \| \$x\$ \~ \^ \& \`\{\}\`"),
        ("at 1e-9", "at 10⁻⁹"),
        ("True is left", "True is left"),
    ],
)
def test_a_label_is_set_as_print_sets_it(text: str, shown: str) -> None:
    assert set_label(text) == shown
