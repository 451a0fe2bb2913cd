"""Descriptions of pages, and where their edit buttons lead."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from matplotlib.image import imread

from bookpress.site.head import CARD, draw_card, first_words, lead_edits_to_sources, use_repository_if_known


def page(text: str) -> nodes.document:
    whole = f"Title\n=====\n\n.. note:: said aside\n\n{text}\n"
    return publish_doctree(whole, settings_overrides={"doctitle_xform": False})


def test_the_first_paragraph_of_a_pages_own_is_its_description() -> None:
    assert first_words(page("*Nobody: Lemma 1.*\n\nTwo words.\n\nThree more words.")) == "Two words."


def test_a_formula_is_said_without_the_marks_of_tex() -> None:
    assert first_words(page(r"It is :math:`\lambda_{min}`.")) == "It is lambda_min."


def test_a_long_description_is_cut_at_a_word() -> None:
    words = first_words(page("word " * 100))
    assert len(words) <= 160
    assert words.endswith("word …")


def test_a_page_without_text_has_no_words() -> None:
    assert first_words(page("*Nobody.*")) == ""


@pytest.mark.parametrize(("address", "shown"), [("", False), ("https://example.org/us/book", True)])
def test_links_to_the_repository_are_there_when_it_is_known(address: str, shown: bool) -> None:
    config: Any = SimpleNamespace(html_theme_options={"repository_url": address})
    use_repository_if_known(None, config)  # type: ignore[arg-type]
    assert config.html_theme_options["use_repository_button"] is shown
    assert config.html_theme_options["use_edit_page_button"] is shown
    assert ("repository_url" in config.html_theme_options) is shown


@pytest.mark.parametrize(
    ("name", "leads"),
    [
        ("notebooks/p/n", "https://example.org/us/book/edit/main/notebooks/p/n.py"),
        ("generated/errata", None),
        ("index", "https://example.org/us/book/edit/main/book/index.md"),
    ],
)
def test_an_edit_button_leads_to_what_is_edited(name: str, leads: str | None) -> None:
    suffix = ".ipynb" if name.startswith("notebooks") else ".md"
    button = {"label": "source-edit-button", "url": f"https://example.org/us/book/edit/main/book/{name}{suffix}"}
    context: dict[str, Any] = {"header_buttons": [{"buttons": [button, {"label": "other", "url": "there"}]}]}
    app: Any = SimpleNamespace(config=SimpleNamespace(html_theme_options={"path_to_docs": "book"}))
    lead_edits_to_sources(app, name, "page.html", context, None)
    urls = [one["url"] for one in context["header_buttons"][0]["buttons"] if one["label"] == "source-edit-button"]
    assert urls == ([leads] if leads else [])


def card_app(folder: Path, builder: str = "html") -> Any:
    return SimpleNamespace(
        outdir=str(folder), builder=SimpleNamespace(name=builder), config=SimpleNamespace(html_title="A Book")
    )


def test_the_card_shows_a_tape_on_which_a_number_grows_by_one(tmp_path: Path) -> None:
    for _ in range(2):  # a second build finds the folder there
        draw_card(card_app(tmp_path), None)
    pixels = imread(tmp_path / CARD)
    assert pixels.shape == (630, 1200, 4)
    rows = [int(630 * (0.57 + 0.33 * (row + 0.5) / 8)) for row in range(8)]
    columns = [int(1200 * (0.07 + 0.86 * (bit + 0.5) / 24)) for bit in range(24)]
    numbers = [int("".join(str(int(pixels[y, x, 0] > 0.5)) for x in columns), 2) for y in rows]
    assert numbers == list(range(23, 31))
    assert pixels[: rows[0] - 60].max(axis=2).max() == 1  # the white title over it
    assert (pixels[0, 0, :3] < 0.3).all()


@pytest.mark.parametrize(("failure", "builder"), [(ValueError(), "html"), (None, "linkcheck")])
def test_what_is_no_site_gets_no_card(failure: Exception | None, builder: str, tmp_path: Path) -> None:
    draw_card(card_app(tmp_path, builder), failure)
    assert list(tmp_path.iterdir()) == []
