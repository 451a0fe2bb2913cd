"""Markdown of the pages: templates, badges, figures, and text that stays text."""

import json
import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from bookpress.claims.evidence import Settled
from bookpress.claims.panel import (
    certificate_in_words,
    escape,
    markdown_table,
    proof_class,
    proof_in_words,
    verdict_class,
    verdict_in_words,
)
from bookpress.claims.registry import ProofMark, Verdict
from bookpress.claims.statement import anchor, folds, heading, parts, place


def render(template: str, **values: Any) -> str:
    """A template of this room with its values; each names a page or a part of one."""
    name = template if "." in template else f"{template}.md"
    return _TEMPLATES.get_template(f"{name}.jinja").render(values)


def figure_block(name: str, details: dict[str, str], link: str = "") -> str:
    """A figure with its number and caption, or with ``link`` a picture that leads there, for the gallery."""
    alt = json.dumps(" ".join(details["alt"].split()), ensure_ascii=False)  # quoted: '#' begins a comment
    return render("figure", name=name, details=details, alt=alt, link=link)


def without_html(markdown: str) -> str:
    """Markdown in which no line begins HTML; in the middle of a line it is not live, by ``_config.yml``."""
    joined = re.sub(r"(?<=\S)\n[ \t]*(?=<[A-Za-z/!?])", " ", markdown)  # in a formula of several lines < may begin one
    return re.sub(r"^([ \t]*)<(?=[A-Za-z/!?])", r"\1\\<", joined, flags=re.MULTILINE)


def badge(verdict: Verdict | str, label: str = "", claim: str = "") -> str:
    """A verdict in words, which the Sphinx extension sets on a coloured ground; with ``claim``, a link to its box."""
    words = f"{label}: {verdict}" if label else str(verdict)
    return f"{{verdict}}`{words} <{claim}>`" if claim else f"{{verdict}}`{words}`"


def proof_badge(mark: ProofMark | None) -> str:
    """The mark on a proof in words; nothing where there is no proof."""
    return f"{{proof}}`{mark.value}`" if mark else ""


def badges(claims: list[Settled]) -> str:
    """The verdicts of a page's claims, each a link to its box."""
    return " ".join(badge(verdict_in_words(settled), settled.label, settled.claim) for settled in claims)


_TEMPLATES = Environment(
    loader=PackageLoader("bookpress.site"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
for _function in (
    *(anchor, folds, heading, parts, place),
    *(certificate_in_words, markdown_table, proof_class, proof_in_words, verdict_class),
    *(badge, badges, figure_block, proof_badge),
):
    _TEMPLATES.globals[_function.__name__] = _function
_TEMPLATES.filters |= {"escape_markdown": escape, "without_html": without_html}
