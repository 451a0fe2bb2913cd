"""How a claim is stated: its heading, its parts, and the text that a notebook carries between two comments.

A notebook holds ``<!-- claim paper/id -->`` and ``<!-- /claim -->``. The text between the two is made from the
registry, in Markdown that every reader of notebooks renders; the site shows the ``claim`` directive in its place.
"""

import re
import textwrap
from functools import partial

from bookpress.claims.registry import Entry, Registry

#: A stated claim in the Markdown of a cell, with whatever stands between its comments; its group is the claim.
BLOCK = re.compile(r"^<!-- claim (\S+) -->\n(?:.*\n)*?<!-- /claim -->$", re.MULTILINE)
_BLOCK_IN_SOURCE = re.compile(r"^# <!-- claim (\S+) -->\n(?:#.*\n)*?# <!-- /claim -->$", re.MULTILINE)
_ANY_COMMENT = re.compile(r"^(?:# )?<!-- /?claim\b.*$", re.MULTILINE)
_filled = partial(textwrap.fill, width=118, break_long_words=False, break_on_hyphens=False)
#: A space behind which Markdown would find a list or a heading, were the line broken there.
_BEGINS_A_LIST = re.compile(r" (?=(?:[-+*>#=|]+|\d+[.)])(?: |$))")
#: What begins a line whose breaks mean something.
_SET_BY_HAND = re.compile(r"^(?:[-*|] |\d+\. |\s|\$\$|```)", re.MULTILINE)

STATES, TRUE, CHANGED, BEYOND = "The paper states", "What is true", "What changed", "Beyond the paper"


class StatementError(Exception):
    """The comments about a claim in a notebook do not come in pairs."""


def anchor(claim: str) -> str:
    """The id of a claim's box in its page."""
    return "claim-" + claim.replace("/", "-")


def short_label(entry: Entry) -> str:
    """What the paper calls the item, without what the registry adds in brackets or after a comma."""
    return re.split(r" \(|, |: ", entry.label)[0]


def other_labels(entry: Entry) -> list[str]:
    """Numbers under which the paper states the same again: ``Lemma 5`` of the label ``Lemma 1 (= Lemma 5)``."""
    return re.findall(r"= (?:informal |App\. )?([A-Z][a-z]+ [A-Z]?[\d.]*\d)", entry.label)


def heading(entry: Entry) -> str:
    """``Lemma 4.4 (Identifiability with error)``; a title that says the label once more is left out."""
    label, title = short_label(entry), entry.title or ""
    return f"{label} ({title})" if title and title.lower().removeprefix("the ") != label.lower() else label


def name_of(entry: Entry) -> str:
    """What badges and panels call a claim: its number, as its box does; with the title where the number is not its own.

    ``Lemma 4.1`` of the label ``Lemma 4.1 (= informal Lemma 2.1)``; ``Figure 1 (Unseen outputs)`` where several claims
    are parts of a Figure 1; and ``Definition (Rounding)`` where there is no number.
    """
    own = re.sub(r" \(= .*\)$", "", entry.label) == short_label(entry)
    return short_label(entry) if own and re.search(r"\d", short_label(entry)) else heading(entry)


def place(entry: Entry) -> str:
    """Where the paper has it, and the other numbers it goes by; empty where the registry names no place."""
    also = f"also {', '.join(others)}" if (others := other_labels(entry)) else ""
    return "; ".join(part for part in (entry.where, also) if part)


def parts(entry: Entry) -> list[tuple[str, str]]:
    """The text of the box, each part with its heading: the paper's words come first.

    A part without a heading is a claim of the book's own.
    """
    texts = {STATES: entry.says, TRUE if entry.says else "": entry.holds, CHANGED: entry.differs}
    return [(name, text.strip()) for name, text in texts.items() if text]


def folds(entry: Entry) -> list[tuple[str, str]]:
    """What is folded below a claim, with titles: its slips as a list, and a threshold that was chosen after a run."""
    listed = "\n".join(f"- {' '.join(slip.split())}" for slip in entry.slips)
    texts = {f"Slips ({len(entry.slips)})": listed, "Chosen after a run": " ".join((entry.set_after or "").split())}
    return [(title, text) for title, text in texts.items() if text]


def statement_markdown(claim: str, entry: Entry) -> str:
    """The block of a notebook: the statement between its two comments."""
    where = f"\n*{place(entry)}*" if place(entry) else ""
    texts = [f"**{heading(entry)}**{where}"]
    texts += [f"**{name}.** {text}" if name else text for name, text in parts(entry)]
    # A formula may break over lines inside these tags, which it may not after the '>' of a quotation.
    inner = ["<blockquote>", *map(_wrapped, texts)]
    for title, text in folds(entry):
        wrapped = "\n".join(_filled(line, subsequent_indent="  ") for line in text.split("\n"))
        inner += [f"<details><summary>{title}</summary>", wrapped, "</details>"]
    inner += ["</blockquote>"]
    if entry.beyond:
        inner += ["<blockquote>", _wrapped(f"**{BEYOND}.** {entry.beyond.strip()}"), "</blockquote>"]
    return "\n".join([f"<!-- claim {claim} -->", "\n\n".join(inner), "<!-- /claim -->"])


def restated(text: str, registry: Registry) -> str:
    """The source of a notebook, percent format, with every statement as the registry has it today.

    Raises:
        StatementError: an opening comment without a closing one, or the other way round.
        RegistryError: no such claim.
    """
    if len(_ANY_COMMENT.findall(text)) != 2 * len(_BLOCK_IN_SOURCE.findall(text)):
        raise StatementError("'<!-- claim paper/id -->' and '<!-- /claim -->' come in pairs, each on a separate line")

    def block(match: re.Match[str]) -> str:
        stated = statement_markdown(match[1], registry.entry(match[1]))
        return "\n".join(f"# {line}" if line else "#" for line in stated.split("\n"))

    return _BLOCK_IN_SOURCE.sub(block, text)


def _wrapped(text: str) -> str:
    """Paragraphs set anew to the width of a source; lists, tables and displayed formulas as the registry has them."""
    paragraphs = text.split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        if not _SET_BY_HAND.search(paragraph):
            whole = _BEGINS_A_LIST.sub("\N{NO-BREAK SPACE}", paragraph.replace("\n", " "))
            paragraphs[number] = _filled(whole).replace("\N{NO-BREAK SPACE}", " ")
    return "\n\n".join(paragraphs)
