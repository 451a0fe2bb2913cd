"""A page's title and rhythm: each rule is kept by a good page and told where it is broken."""

import jupytext
import pytest
from nbformat import NotebookNode

from bookpress.claims.registry import Entry
from page_rules import page_faults, rhythm_faults, title_faults

GOOD = """\
# %% [markdown]
# # Lemma 4.4 · With error
# *Somebody: Lemma 4.4.*
#
# The question. Then a formula, $x$.

# %%
import math

# %% tags=["parameters"]
n = 3

# %%
require(n=(n, 1, None))

# %%
value = compute(n)

# %%
fig, axis = show.axes()
show.figure(fig, name="x")

# %% [markdown]
# What we see.

# %%
claim = Claim("demo/lemma-4-4")
claim.verdict()

# %% [markdown]
# ## What to remember
# - Much.
#
# ## Exercises
# 1. One.
#    <details><summary>Solution</summary> One. </details>
# 2. Two.
#    <details><summary>Solution</summary> Two. </details>
"""


def notebook(text: str) -> NotebookNode:
    return jupytext.reads(text, fmt="py:percent")


def entry(label: str, where: str = "") -> Entry:
    return Entry(id="x", label=label, where=where or None, kind="lemma", check="c", why="w")  # type: ignore[arg-type]


def test_a_good_page_has_no_fault() -> None:
    assert page_faults(notebook(GOOD), [entry("Lemma 4.4")]) == []


@pytest.mark.parametrize(
    ("title", "entries", "fault"),
    [
        ("Lemma 4.4 · T", [entry("Lemma 4.4")], None),
        ("Lemmas 4.4 and B.2 · T", [entry("Lemma 4.4"), entry("Lemma B.2")], None),
        ("Figure 2 · T", [entry("Figure 2(a)"), entry("Figure 2(b)")], None),
        ("Section 4 · T", [entry("Loss", where="Section 4.2")], None),
        ("Figures 2 to 4 · T", [entry("Figure 2"), entry("Figure 4")], None),
        ("Eqs (21)-(22) · T", [entry("Equation 21"), entry("Eq. (22)")], None),
        ("App. B.1.3 · T", [entry("Lemma 7 (= Appendices B.1.3 and F.3)")], None),
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
        ('claim = Claim("demo/lemma-4-4")\n', 'claim = Claim("demo/lemma-4-4")\n\n# %%\n', "opened and closed"),
        ("# %% [markdown]\n# What we see.\n\n", "", "no sentence after a figure"),
        ("# ## Exercises\n", "# ## Exercises\n#\n# ## More\n", "ends with the sections"),
        ("value = compute(n)", "n = 4", "the parameter 'n' is set again"),
        ("# The question.", "# Is $x$ true?", "the first sentence has a formula"),
        ("# The question.", "# The question." + " Words." * 301, "words before the first figure"),
        ("# What we see.", "# What we see." + " Words." * 1500, "words outside of folds"),
        ("# What we see.", "# ### Noise " + "Suppose that every input bit is wrong. " * 3, "a paragraph in its line"),
        ("# 2. Two.\n#    <details><summary>Solution</summary> Two. </details>\n", "", "two exercises"),
        ("# 1. One.\n#    <details>", "# 1. One. <details>", "a fold must begin its line"),
    ],
)
def test_each_break_of_the_rhythm_is_told(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    assert any(fault in one for one in rhythm_faults(notebook(GOOD.replace(old, new))))
