"""Verdicts in the style sheet: every one has a mark, and opposites differ without colour."""

import re

from bookpress.claims.panel import verdict_class
from bookpress.claims.registry import Verdict
from bookpress.layout import Layout


def test_every_verdict_has_a_mark_that_no_opposite_shares() -> None:
    css = (Layout.here().book / "static" / "book.css").read_text(encoding="utf-8")
    marks = {}
    for verdict in Verdict:
        rule = re.search(
            rf"^[^{{}}]*\.{verdict_class(verdict)}(?![\w-])[^{{}}]*\{{ --mark: ([^;]+);", css, re.MULTILINE
        )
        marks[verdict] = rule and rule[1]
    assert None not in marks.values()
    alike = [{a, b} for a in Verdict for b in Verdict if a < b and marks[a] == marks[b]]
    assert alike == [{Verdict.HOLDS, Verdict.REPRODUCED}, {Verdict.REFUTED, Verdict.NOT_REPRODUCED}]
