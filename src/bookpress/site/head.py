"""What a page says of itself to searchers and to cards, and its ways out: the repository, and how to cite it."""

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

#: The words of a description that a search engine shows.
_DESCRIPTION_LENGTH = 160
CARD = "_static/card.png"


def use_repository_if_known(_: Sphinx, config: Config) -> None:
    """Show the links to the repository that ``repository: url`` of ``_config.yml`` names; none while it is empty."""
    options = config.html_theme_options
    known = bool(options.get("repository_url"))
    if not known:
        options.pop("repository_url", None)
    for button in ("use_repository_button", "use_edit_page_button", "use_issues_button"):
        options[button] = known


def describe_page(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give a page its description and card, and a footer that leads to how the book is cited."""
    base = (app.config.html_baseurl or "").rstrip("/")
    title = str(context.get("pagetitle") or context.get("title") or app.config.html_title)
    said = first_words(doctree) if doctree is not None else ""
    description = said or f"{app.config.html_title}: {title}"
    card = f"{base}/{CARD}" if base else context["pathto"](CARD, True)
    tags = {
        'name="description"': description,
        'property="og:title"': title,
        'property="og:description"': description,
        'property="og:type"': "website" if page == app.config.root_doc else "article",
        'property="og:site_name"': app.config.html_title,
        'property="og:image"': card,
        'name="twitter:card"': "summary_large_image",
    }
    if base:
        tags['property="og:url"'] = f"{base}/{app.builder.get_target_uri(page)}"
    lines = [f'<meta {key} content="{escape(value, quote=True)}" />' for key, value in tags.items()]
    context["metatags"] = context.get("metatags", "") + "\n    ".join(["", *lines])
    context["theme_extra_footer"] = _footer(app, context["pathto"])


def lead_edits_to_sources(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: nodes.document | None
) -> None:
    """Point the edit button of a notebook's page at the notebook's source; a generated page has none to edit."""
    docs = app.config.html_theme_options.get("path_to_docs", "")
    for button in context.get("header_buttons", []):
        for one in list(button.get("buttons", [])):
            if one.get("label") != "source-edit-button":
                continue
            if page.startswith("notebooks/"):
                one["url"] = one["url"].replace(f"/{docs}/{page}.ipynb", f"/{page}.py")
            elif page.startswith("generated/"):
                button["buttons"].remove(one)


def _footer(app: Sphinx, pathto: Any) -> str:
    links = [f'<a href="{pathto("references").rstrip("#")}#cite-this">Cite this book</a>']
    if repository := app.config.html_theme_options.get("repository_url"):
        links.append(f'<a href="{escape(repository, quote=True)}">Source and issues</a>')
    return " · ".join(links)


def first_words(doctree: nodes.document) -> str:
    """The first paragraph of a page's own text, cut at a word; nothing where there is none."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section) and not _is_about_the_page(paragraph):
            words = " ".join(_plain(paragraph).split())
            if words:
                return words if len(words) <= _DESCRIPTION_LENGTH else f"{_cut(words)} …"
    return ""


def _is_about_the_page(paragraph: nodes.paragraph) -> bool:
    """Whether it says where the claims are printed, wholly in italics, or how the page was run."""
    return "run-line" in paragraph["classes"] or all(isinstance(one, nodes.emphasis) for one in paragraph.children)


def _cut(words: str) -> str:
    return words[: words.rfind(" ", 0, _DESCRIPTION_LENGTH - 2)].rstrip(" ,;:")


def _plain(paragraph: nodes.Element) -> str:
    """Text without badges, and formulas without the marks that only TeX can read."""
    parts = []
    for child in paragraph.children:
        if isinstance(child, nodes.Element) and _is_badge(child):
            continue
        if isinstance(child, nodes.inline):  # a formula and the point behind it
            parts.append(_plain(child))
            continue
        text = child.astext()
        parts.append(text.translate(str.maketrans("", "", "\\{}$")) if isinstance(child, nodes.math) else text)
    return "".join(parts)


def _is_badge(node: nodes.Element) -> bool:
    """A verdict, or a link that holds nothing else."""
    return any("verdict" in one.get("classes", []) for one in (node, *node.children) if isinstance(one, nodes.Element))


def draw_card(app: Sphinx, failure: Exception | None) -> None:
    """Draw the picture that a shared link shows: the title over a tape that attention wrote."""
    if failure or app.builder.name != "html":
        return
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor="#0f2b46")
    figure.text(0.07, 0.68, app.config.html_title, color="white", fontsize=44, weight="bold")
    figure.text(0.07, 0.55, "Five theory papers on attention, run claim by claim", color="#cfe3f7", fontsize=26)
    tape = figure.add_axes((0.07, 0.1, 0.86, 0.33))
    number = 23
    steps = [[(number + step) >> bit & 1 for bit in range(23, -1, -1)] for step in range(8)]
    tape.imshow(steps, cmap="cividis", aspect="auto")
    tape.set_axis_off()
    path = Path(app.outdir, CARD)
    path.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})
