"""A page's title and rhythm: each rule is kept by a good page and told where it is broken."""

import jupytext
import pytest
from nbformat import NotebookNode

from bookpress.claims.registry import Entry
from page_rules import page_faults, references, rhythm_faults, title_faults

GOOD = """\
# %% [markdown]
# # Lemma 4.4 · With error
# The idea.

# %%
import math

# %% tags=["parameters"]
n = 3

# %%
require(n=(n, 1, None))

# %% [markdown]
# What is computed.

# %%
value = compute(n)

# %% [markdown]
# What to see.

# %%
fig, axis = show.axes()
show.figure(fig, name="x")

# %% [markdown]
# What is checked.

# %%
claim = Claim("demo/lemma-4-4")
claim.verdict()

# %% [markdown]
# ## What was learned
# Much.
#
# ## To try
# - `n = 4`
"""


def notebook(text: str) -> NotebookNode:
    return jupytext.reads(text, fmt="py:percent")


def entry(label: str, where: str = "") -> Entry:
    return Entry(id="x", label=label, where=where or None, kind="lemma", check="c", why="w")  # type: ignore[arg-type]


def test_a_good_page_has_no_fault() -> None:
    assert page_faults(notebook(GOOD), [entry("Lemma 4.4")]) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Lemmas 4.4 and B.2", {("lemma", "4.4"), ("lemma", "B.2")}),
        ("Figures 2 to 4", {("figure", "2"), ("figure", "4")}),
        ("Figure 2(a), eqs (21)-(22)", {("figure", "2a"), ("equation", "21"), ("equation", "22")}),
        ("Appendices B.1 and F.3", {("appendix", "B.1"), ("appendix", "F.3")}),
        ("App. B.1.3, two coordinates", {("appendix", "B.1.3")}),
        ("Lemma 7 (= Lemma 21)", {("lemma", "7"), ("lemma", "21")}),
        ("Table 1 and Figures 3 to 8", {("table", "1"), ("figure", "3"), ("figure", "8")}),
        ("A word on sections", set()),
    ],
)
def test_numbered_items_are_read_from_text(text: str, found: set[tuple[str, str]]) -> None:
    assert references(text) == found


@pytest.mark.parametrize(
    ("title", "entries", "fault"),
    [
        ("Lemma 4.4 · T", [entry("Lemma 4.4")], None),
        ("Lemmas 4.4 and B.2 · T", [entry("Lemma 4.4"), entry("Lemma B.2")], None),
        ("Figure 2 · T", [entry("Figure 2(a)"), entry("Figure 2(b)")], None),
        ("Section 4 · T", [entry("Loss", where="Section 4.2")], None),
        ("T", [entry("Lemma 4.4")], "must begin with the paper's number"),
        ("The certificate · T", [entry("Lemma 4.4")], "no number of the paper"),
        ("Lemma 4.5 · T", [entry("Lemma 4.4")], "lemma 4.5, where no claim"),
        ("Lemma 4 · T", [entry("Lemma 44")], "lemma 4, where no claim"),
        ("Lemmas 4.4 and B.3 · T", [entry("Lemma 4.4")], "lemma B.3, where no claim"),
    ],
)
def test_a_title_begins_with_numbers_of_its_claims(title: str, entries: list[Entry], fault: str | None) -> None:
    faults = title_faults(title, entries)
    assert (faults == []) if fault is None else (len(faults) == 1 and fault in faults[0])


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("value = compute(n)", "value = compute(n)\n" * 21, "a code cell of 21 lines"),
        ("# %% [markdown]\n# What is checked.\n\n", "", "1 of 3 code cells follow another"),
        ('claim = Claim("demo/lemma-4-4")\n', 'claim = Claim("demo/lemma-4-4")\n\n# %%\n', "opened and closed"),
        ("# %% [markdown]\n# What to see.\n\n", "", "no sentence before a figure"),
        ("# ## To try\n", "# ## More\n", "ends with the sections"),
        ("# ## What was learned\n", "", "ends with the sections"),
        ("value = compute(n)", "n = 4", "the parameter 'n' is set again"),
        ("value = compute(n)", "for n in range(3):\n    pass", "the parameter 'n' is set again"),
    ],
)
def test_each_break_of_the_rhythm_is_told(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    assert any(fault in one for one in rhythm_faults(notebook(GOOD.replace(old, new))))
