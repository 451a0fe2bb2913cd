"""The scoreboard: every claim with its verdict, the number that tells most, and what is on record at full size."""

from collections import Counter

from bookpress.claims.evidence import Item, Role, Settled, format_bound, format_number, in_words
from bookpress.claims.panel import set_label, set_number
from bookpress.claims.registry import Entry, Paper, Verdict
from bookpress.site.book import Book
from bookpress.site.page import badge, proof_badge, table_row

#: Stands over the claims that no paper makes.
OWN = (
    "Claims of the book's own, which none of the papers makes. The counts above leave them out. *Proved here* takes "
    "the place of *as printed*: the proof stands on the claim's page, and what can be run of it was run."
)


def summary_page(book: Book) -> str:
    """Verdicts counted by paper; included by the front page and the scoreboard."""
    papers = book.registry.articles
    counted = [Counter(book.verdict(paper, entry) for entry in paper.claims) for paper in papers]
    total = sum(counted, Counter())
    names = [f"[{paper.short_title}](/papers/{paper.name}.md)" for paper in papers]
    lines = [
        "---\norphan: true\n---\n",
        table_row(["verdict", *names, "all"]),
        table_row(["---", *["---:"] * (len(papers) + 1)]),
        *(
            table_row([badge(verdict), *(str(one[verdict] or "") for one in counted), str(total[verdict])])
            for verdict in Verdict
            if total[verdict]
        ),
        table_row(["**claims**", *(f"**{one.total()}**" for one in counted), f"**{total.total()}**"]),
    ]
    return "\n".join(lines) + "\n"


def scoreboard_page(book: Book) -> str:
    """Every claim of every paper. The empty box is where a script puts the filters; the tables are whole without it."""
    lines = [
        "# Scoreboard",
        "",
        "Every numbered item of the papers, with the verdict that its notebook computed. A verdict is never "
        "typed: it follows from checks that can fail and from controls that were seen to fail. The lists below end "
        "with the claims of the book's own, which the first table leaves out.",
        "",
        "Of what was measured one number is shown, the one that has a printed number beside it where there is one; "
        "brackets hold an interval. The seconds are those of the whole page. Where a paper's own size is too much for "
        "the book's laptop run, the last column has the verdict of the run at full size, if one is on record. Where it "
        "is blank, the two are one run, or there is none.",
        "",
        "```{include} summary.md\n:start-line: 3\n```",
        "",
        ":::{div} scoreboard-filters\n:::",
    ]
    for paper in book.registry.papers:
        cited = f"{paper.authors}: *{paper.title}* {{cite}}`{paper.cite}`." if paper.is_article else OWN
        lines += ["", f"## {paper.short_title}", "", cited, ""]
        lines += [table_row(_COLUMNS), table_row(["---"] * len(_COLUMNS))]
        lines += [table_row(_score(book, paper, entry)) for entry in paper.claims]
    return "\n".join(lines) + "\n"


_COLUMNS = [
    "claim",
    "what it is",
    "kind",
    "verdict",
    "proof",
    "measured",
    "in print, or the bound",
    "seconds",
    "full size",
]


def _score(book: Book, paper: Paper, entry: Entry) -> list[str]:
    verdict, claim = book.verdict(paper, entry), f"{paper.name}/{entry.id}"
    record = book.records.get(entry.notebook or "")
    label = f"{{claim:ref}}`{entry.label} <{claim}>`" if record else entry.label
    reason = f" {entry.why}" if verdict is Verdict.NOT_RUN and entry.why else ""
    settled = next((one for one in record.claims if one.claim == claim), None) if record else None
    return [
        label,
        entry.title or entry.kind.value,
        entry.kind.value,
        badge(verdict) + reason,
        proof_badge(book.proof(paper, entry), not paper.is_article),
        *(_measured(settled) if settled else ("", "")),
        f"{record.seconds:.1f}" if record and settled else "",
        _full_size(book, paper, entry) if settled else "",
    ]


def headline_item(settled: Settled) -> Item | None:
    """The one comparison to show: with a printed number, else an estimate, else a check of a measured quantity."""
    shown = [item for item in settled.evidence if item.bound is not None and not isinstance(item.measured, bool | str)]
    for fits in (
        lambda item: item.role is Role.NUMBER,
        lambda item: item.interval is not None and not item.role.must_fail,
        lambda item: item.role is Role.CHECK and isinstance(item.measured, float),
        lambda item: item.role is Role.CHECK,
    ):
        if found := next(filter(fits, shown), None):
            return found
    return None


def _measured(settled: Settled) -> tuple[str, str]:
    """What was measured, with its name and interval; and the printed number or the bound beside it."""
    item = headline_item(settled)
    if item is None:
        return "", ""
    interval = f" ({' to '.join(map(format_number, item.interval))})" if item.interval else ""
    beside = "" if item.role is Role.NUMBER else in_words(item.relation)
    measured = set_number(format_number(item.measured) + interval)
    return f"{set_label(item.label)}: {measured}", beside + set_number(format_bound(item))


def _full_size(book: Book, paper: Paper, entry: Entry) -> str:
    """The verdict at the paper's own size, where the laptop run is smaller."""
    if found := book.found_at_full_size.get(f"{paper.name}/{entry.id}"):
        return badge(found)
    return badge(Verdict.NOT_RUN) if entry.notebook in book.full_size else ""
