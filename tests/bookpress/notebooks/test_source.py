"""A notebook's source read: title, code, parameters with their comments and ranges, and what is refused."""

from pathlib import Path
from typing import Any

import nbformat
import pytest

from bookpress.layout import Layout
from bookpress.notebooks.source import Notebook, SourceError, title_of

SOURCE = """\
# %% [markdown]
# Words before.
#
# ## Not this
#
# # A title
# # Another

# %%
# # no heading
from attention_theory.validation import require

# %% tags=["parameters"]
n = 3  # how many, at least 2
rates = [
    0.5,  # not this
    1.0,
]  # the rates, each from 0 to 1
word = "a#b"
free = -1  # any

# %%
require(n=(n, 1, 9), rates=(rates, 0.0, 1.0))
"""


@pytest.fixture
def notebook(tmp_path: Path) -> Notebook:
    path = Layout(tmp_path).source("demo/page")
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    return Notebook("demo/page", Layout(tmp_path))


def test_the_title_is_the_first_heading_of_the_prose(notebook: Notebook) -> None:
    assert notebook.title == "A title"
    assert title_of(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("# no title")])) == "Untitled"


def test_parameters_have_values_comments_and_ranges(notebook: Notebook) -> None:
    n, rates, word, free = notebook.parameters
    assert [one.name for one in notebook.parameters] == ["n", "rates", "word", "free"]
    assert [one.default for one in notebook.parameters] == [3, [0.5, 1.0], "a#b", -1]
    assert [one.comment for one in (rates, word, free)] == ["the rates, each from 0 to 1", "", "any"]
    assert n.rule is not None
    assert (n.rule.least, n.rule.most) == ("1", "9")
    assert (word.rule, free.rule) == (None, None)
    assert (n.rule.text, n.comment) == ("from 1 to 9", "how many, at least 2")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (' tags=["parameters"]', "", "one cell must be tagged 'parameters', found 0"),
        ("# %%\nrequire", '# %% tags=["parameters"]\nrequire', "one cell must be tagged 'parameters', found 2"),
        ("free = -1", "free: int = -1", "the parameters cell holds only lines 'name = value'"),
        ("free = -1", "print(1)", "the parameters cell holds only lines 'name = value'"),
        ("free = -1", "free = word.upper()", "the default of 'free' must be a plain value"),
    ],
)
def test_another_form_of_the_parameters_is_refused(notebook: Notebook, old: str, new: str, message: str) -> None:
    assert old in SOURCE
    notebook.path.write_text(SOURCE.replace(old, new))
    with pytest.raises(SourceError, match=f"^demo/page: {message}$"):
        _ = notebook.parameters


def test_a_source_that_is_not_there_is_refused_with_the_nearest(notebook: Notebook) -> None:
    layout = notebook.layout
    with pytest.raises(SourceError, match=r"^there is no notebook 'demo/pagge'; nearest: demo/page$"):
        Notebook.find("demo/pagge", layout)
    with pytest.raises(SourceError, match=r"^there is no notebook 'xyz'$"):
        _ = Notebook("xyz", layout).source


@pytest.mark.parametrize("name", ["./demo/page", "demo/../demo/page", "demo//page", "demo/page\0", "", "demo"])
def test_another_way_to_write_a_path_is_no_name(notebook: Notebook, name: str) -> None:
    with pytest.raises(SourceError, match="there is no notebook"):
        Notebook.find(name, notebook.layout)
    with pytest.raises(SourceError, match="there is no notebook"):
        Notebook.find(str(notebook.path.with_suffix("")), notebook.layout)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a = 1\nb = (\n", r"^page\.py, line 2: '\(' was never closed$"),
        (b"a = 1\n\nb = '\xe9'\n", r"^page\.py, line 3: not UTF-8 \(byte 0xe9\)$"),
        (b"a = '\x00'\n", r"^page\.py"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused_at_its_line(notebook: Notebook, content: bytes, message: str) -> None:
    notebook.path.write_bytes(content)
    with pytest.raises(SourceError, match=message):
        _ = notebook.source


def test_a_source_that_has_been_read_is_not_parsed_again(toy: Any) -> None:
    assert Notebook(toy.add("good"), toy.layout).title == "Good"
    (path,) = (toy.layout.build / "memory").iterdir()
    path.write_text(path.read_text().replace("# Good", "# Kept"))
    assert Notebook("demo/good", toy.layout).title == "Kept"
    path.write_text("damaged")
    assert Notebook("demo/good", toy.layout).title == "Good"
