"""Phrases that a native reader stumbles over are avoided."""

from collections.abc import Iterator

import pytest

from prose import ROOT, Passage, of_claims, of_notebook, of_package, of_page, plain


def passages(part: str) -> Iterator[Passage]:
    """All that is written in a chapter, among the pages written by hand, or in a package."""
    if part.startswith("src/"):
        yield from of_package(ROOT / part)
    elif part == "book":
        for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "book").glob("*.md")]:
            yield from of_page(page)
    else:
        yield from of_page(ROOT / "book" / "papers" / f"{part}.md")
        for path in (ROOT / "notebooks" / part).glob("*.py"):
            yield from of_notebook(path)
        if (claims := ROOT / "book" / "claims" / f"{part}.yaml").is_file():
            yield from of_claims(claims)


PARTS = {"book", "src/attention_theory", "src/bookpress"} | {
    path.stem for path in (ROOT / "book" / "papers").glob("*.md")
}


@pytest.mark.parametrize("part", sorted(PARTS))
def test_phrases_that_the_book_avoids(part: str) -> None:
    assert [hit for passage in passages(part) for hit in passage.avoided()] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("What is judged is the sum.", 1),
        ("What is a token?", 0),
        ("It is reproduced, but for the last row.", 1),
        ("<details><summary>Proof of Lemma 1</summary> It hangs on the rank. </details>", 0),
        ("A formula $a \\text{ of its own}$ and `code of its own`.", 0),
        ("(This is a whole sentence that stands in parentheses.)", 1),
    ],
)
def test_a_phrase_is_found_in_prose_and_not_in_proofs_formulas_or_code(text: str, count: int) -> None:
    assert len([*Passage("here", text).avoided()]) == count


def test_markup_is_no_text() -> None:
    text = "```{figure} a.png\n:name: b\n```\n# Title\n| a | b |\nWe *see* [a page](c.md) of $x$."
    assert plain(text).replace("C ", "") == "We see a page of X."
