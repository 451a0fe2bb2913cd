"""The first mention of a word of the glossary on a page leads to it, and says what it means when pointed at."""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

_GLOSSARY = "glossary"
#: Pages whose prose is read for words of the glossary.
_READ = ("notebooks/", "papers/", "bridges/")
#: What is left as it is: names, links, formulas, code, tables; boxes that state a claim, and the line on the run.
_CLOSED = (
    nodes.title,
    nodes.caption,
    nodes.reference,
    pending_xref,
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.table,
)
_CLOSED_CLASSES = {"claim", "run-line", "verdict-panel", "verdict", "proof-mark"}


class GlossaryLinks(SphinxPostTransform):
    """Turn the first mention of each term in a page's paragraphs into a link with its definition."""

    default_priority = 950

    def run(self, **_: object) -> None:
        if not self.env.docname.startswith(_READ):
            return
        missing = dict(definitions(self.env))
        for text in [one for one in self.document.findall(nodes.Text) if _is_prose(one)]:
            if not missing:
                return
            if parts := list(_linked(text, missing, self.env)):
                text.parent.replace(text, parts)


def definitions(env: BuildEnvironment) -> Iterator[tuple[str, tuple[str, str]]]:
    """Every term with the id of its entry and its definition as plain text; other spellings share an entry."""
    if _GLOSSARY not in env.found_docs:
        return
    for item in env.get_doctree(_GLOSSARY).findall(nodes.definition_list_item):
        meaning = " ".join(item.next_node(nodes.definition).astext().split())
        for term in item.findall(nodes.term):
            yield term.astext(), (term["ids"][0], meaning)


def _is_prose(text: nodes.Text) -> bool:
    above, in_paragraph = text.parent, False
    while above is not None:
        if isinstance(above, _CLOSED) or not _CLOSED_CLASSES.isdisjoint(above.get("classes", [])):
            return False
        in_paragraph = in_paragraph or isinstance(above, nodes.paragraph)
        above = above.parent
    return in_paragraph


def _linked(text: nodes.Text, missing: dict[str, tuple[str, str]], env: BuildEnvironment) -> Iterator[nodes.Node]:
    """The text with its first term made a link, and what follows searched on; nothing where there is none."""
    said = text.astext()
    terms = "|".join(sorted(map(re.escape, missing), key=len, reverse=True))
    found = re.search(rf"(?<![\w-])(?:{terms})(?![\w-])", said, re.IGNORECASE) if missing else None
    if found is None:
        return
    name = next(term for term in missing if term.lower() == found.group().lower())
    entry, meaning = missing[name]
    for term in [term for term, (its, definition) in missing.items() if definition == meaning]:
        del missing[term]
    uri = env.app.builder.get_relative_uri(env.docname, _GLOSSARY)
    link = nodes.reference(
        "", found.group(), internal=True, refuri=f"{uri}#{entry}", reftitle=meaning, classes=["term"]
    )
    if before := said[: found.start()]:
        yield nodes.Text(before)
    yield link
    rest = nodes.Text(said[found.end() :])
    yield from list(_linked(rest, missing, env)) or [rest]
