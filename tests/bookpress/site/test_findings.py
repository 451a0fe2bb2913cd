"""Verdicts and counts for sentences: kept whole, counted right, refused where there are none."""

import pytest

from bookpress.claims.registry import Verdict
from bookpress.site.book import Finding, Findings


@pytest.fixture
def findings() -> Findings:
    return Findings(
        {
            "one/lemma-1": Finding("Lemma 1", Verdict.HOLDS, "one/first"),
            "one/lemma-2": Finding("Lemma 2", Verdict.REFUTED, "one/first"),
            "two/lemma-1": Finding("Lemma 1", Verdict.HOLDS, "two/other"),
            "two/lemma-2": Finding("Lemma 2", Verdict.NOT_RUN, None),
            "own/bridge-1": Finding("Bridge 1", Verdict.HOLDS, "own/page", of_article=False),
        }
    )


def test_counts(findings: Findings) -> None:
    """Over all papers, the claims of the book's own are left out."""
    numbers = {"claims": 4, "papers": 2, "notebooks": 2, "holds": 2, "not run": 1}
    numbers |= {"one/holds": 1, "one/claims": 2, "one/notebooks": 1, "two/refuted": 0, "own/claims": 1, "own/holds": 1}
    assert {what: findings.count(what) for what in numbers} == numbers


def test_what_cannot_be_counted_is_refused_by_name(findings: Findings) -> None:
    with pytest.raises(ValueError, match="no paper 'three'"):
        findings.count("three/holds")
    with pytest.raises(ValueError, match=r"no count 'falls': there are claims.*refuted"):
        findings.count("falls")
