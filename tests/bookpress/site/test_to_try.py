"""What pages propose to try: the parameters that a point names, and the line that sets them."""

from pathlib import Path
from typing import Any

from bookpress.layout import Layout
from bookpress.notebooks.run import run
from bookpress.notebooks.source import Notebook
from bookpress.site.book import Book
from bookpress.site.to_try import Proposal, proposals, to_try_page


def test_a_point_names_its_parameters_and_nothing_else_is_set(toy: Any) -> None:
    toy.add("good")
    path: Path = toy.layout.source("demo/good")
    points = "# ## To try\n# - Set `n = 5`: a longer line, and `m = 2`\n#   is no parameter.\n"
    points += "# - Set `n` to 4. Look.\n# - Look."
    path.write_text(path.read_text() + f"\n# %% [markdown]\n{points}\n")
    found = proposals(Notebook("demo/good", toy.layout))
    assert [one.settings for one in found] == [{"n": 5}, {"n": 4}, {}]
    assert found[0].words == "Set `n = 5`: a longer line, and `m = 2` is no parameter."


def test_the_line_gives_plain_values_one_by_one_and_lists_as_yaml() -> None:
    one = Proposal("demo/good", "", {"n": 5, "name": "two words", "sizes": [[2, 3], [4]]})
    assert one.line == (
        "papermill notebooks/demo/good.ipynb out.ipynb -p n 5 -p name 'two words' -y '{sizes: [[2, 3], [4]]}'"
    )


def test_nearly_every_point_sets_a_parameter() -> None:
    layout = Layout.here()
    found = {name: proposals(Notebook(name, layout)) for name in layout.notebooks()}
    every = [one for points in found.values() for one in points]
    assert sum(bool(one.settings) for one in every) > 0.95 * len(every)


def test_the_page_has_every_point_under_its_theme_and_a_line_where_one_is_set(toy: Any) -> None:
    toy.add("good")
    path: Path = toy.layout.source("demo/good")
    path.write_text(path.read_text() + "\n# %% [markdown]\n# ## To try\n# - Set `n = 5`: a longer line.\n# - Look.\n")
    run("demo/good", layout=toy.layout)
    page = to_try_page(Book(toy.layout, "laptop"))
    assert [line for line in page.splitlines() if line.startswith("## ")] == ["## Theorems and their bounds"]
    assert "**[Good](/notebooks/demo/good.ipynb)**" in page
    assert [line for line in page.splitlines() if line.startswith("- ")] == ["- Set `n = 5`: a longer line.", "- Look."]
    assert page.count("```console") == 1
    assert "  papermill notebooks/demo/good.ipynb out.ipynb -p n 5\n" in page
