"""A claim as a notebook states it: the registry's words, between two comments, in Markdown that all can render."""

import re

import pytest
from markdown_it import MarkdownIt

from bookpress.claims.registry import Entry, Registry, RegistryError
from bookpress.claims.statement import BLOCK, StatementError, name_of, parts, place, restated, statement_markdown
from bookpress.layout import Layout


def entry(**fields: str) -> Entry:
    usual = {"id": "x", "label": "Lemma 4.4", "kind": "lemma", "check": "c", "notebook": "demo/x", "expected": "holds"}
    return Entry.model_validate(usual | {"says": "$a < b$"} | fields)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Lemma 4.4", "Lemma 4.4"),
        ("Lemma 1 (= Lemma 5)", "Lemma 1"),
        ("Theorem 2.1, running time", "Theorem 2.1 (T)"),
        ("Figure 1, row 1 left (population loss)", "Figure 1 (T)"),
        ("Definition (Rounding)", "Definition (T)"),
    ],
)
def test_a_badge_has_the_name_of_the_box_or_its_number(label: str, name: str) -> None:
    assert name_of(entry(label=label, title="T")) == name


def test_no_two_claims_of_a_page_have_one_name() -> None:
    for paper in Registry.load(Layout.here()).papers:
        for notebook in {one.notebook for one in paper.claims} - {None}:
            names = [name_of(one) for one in paper.claims if one.notebook == notebook]
            assert len(set(names)) == len(names), (notebook, names)


def test_the_other_number_of_a_statement_is_named_with_its_place() -> None:
    assert place(entry(label="Lemma 1 (= Lemma 5)", where="Section 3")) == "Section 3; also Lemma 5"
    assert place(entry()) == ""


def test_the_papers_words_come_first_then_what_is_true_and_slips_are_folded() -> None:
    fields = {"says": "$a > b$", "holds": "$a < b$", "differs": "The sign.", "slips": ["One.", "Two."]}
    fields["beyond"] = "More."
    told = Entry.model_validate({**entry().model_dump(), "expected": "refuted", **fields})
    assert parts(told) == [("The paper states", "$a > b$"), ("What is true", "$a < b$"), ("What changed", "The sign.")]
    shown = MarkdownIt().render(statement_markdown("demo/x", told))
    order = ["The paper states", "What is true", "What changed", "Slips (2)", "<li>One.</li>", "Beyond the paper"]
    assert [shown.index(words) for words in order] == sorted(shown.index(words) for words in order)
    own = Entry.model_validate({**entry().model_dump(), "says": None, "holds": "$a < b$"})
    assert parts(own) == [("", "$a < b$")]


def test_the_block_is_plain_markdown_that_reads_back() -> None:
    block = statement_markdown("demo/x", entry(title="T", holds="$a > b$", differs="The sign.", expected="refuted"))
    assert BLOCK.sub(lambda match: f"[{match[1]}]", f"Before.\n\n{block}\n\nAfter.") == "Before.\n\n[demo/x]\n\nAfter."
    shown = MarkdownIt().render(block)
    assert "<blockquote>\n<p><strong>Lemma 4.4 (T)</strong></p>" in shown
    assert shown.index("<strong>The paper states.</strong>") < shown.index("<strong>What is true.</strong>")


EVERY = [(f"{paper.name}/{one.id}", one) for paper in Registry.load(Layout.here()).papers for one in paper.claims]


def test_no_statement_of_the_book_needs_more_than_plain_markdown_with_formulas() -> None:
    """Roles, directives and citations of MyST would be shown raw by Jupyter and by code hosts."""
    for claim, one in EVERY:
        text = "\n".join(part for _, part in parts(one))
        prose = re.sub(r"\$\$[^$]*\$\$|\$[^$]*\$|`[^`]*`", "", text)
        assert not re.search(r"\{[a-z:]+\}$|:::|```|<[a-z/!]", prose, re.MULTILINE), claim
        assert text.count("$") % 2 == 0, claim


def test_no_line_of_the_registry_begins_a_list_by_accident() -> None:
    """The site parses the registry's own lines, of which one that begins with ``> 0$`` would be a quotation."""
    for claim, one in EVERY:
        for paragraph in "\n\n".join(text for _, text in parts(one)).split("\n\n"):
            if not re.match(r"[-*|] |\d+\. |\$\$", paragraph):
                assert not re.search(r"^(?:[-+*>#=|]+|\d+[.)])(?: |$)", paragraph, re.MULTILINE), claim


def test_every_line_of_every_block_fits_a_source() -> None:
    for claim, one in EVERY:
        lines = statement_markdown(claim, one).splitlines()
        assert max(map(len, lines)) <= 118, claim
        assert lines == [line.rstrip() for line in lines]


SOURCE = "# %% [markdown]\n# # T\n#\n# <!-- claim demo/lemma-1 -->\n# {}\n# <!-- /claim -->\n#\n# After.\n"


def test_whatever_stands_in_a_block_is_written_anew_and_nothing_else(toy: object) -> None:
    registry = Registry.load()
    fresh = restated(SOURCE.format("typed by hand"), registry)
    assert "typed by hand" not in fresh
    assert "# **Lemma 1 (One is less)**" in fresh
    assert "# **The paper states.** $1 < n$\n" in fresh
    assert fresh.startswith("# %% [markdown]\n# # T\n#\n# <!-- claim demo/lemma-1 -->")
    assert fresh.endswith("# <!-- /claim -->\n#\n# After.\n")
    assert restated(fresh, registry) == fresh
    assert len(BLOCK.findall(fresh.replace("# ", "").replace("#", ""))) == 1


def test_a_block_left_open_and_a_claim_that_is_not_there_are_refused(toy: object) -> None:
    registry = Registry.load()
    with pytest.raises(StatementError, match="come in pairs"):
        restated("# <!-- claim demo/lemma-1 -->\n# Words.\n", registry)
    with pytest.raises(RegistryError, match="demo/lemma-9"):
        restated(SOURCE.replace("lemma-1", "lemma-9"), registry)
