"""The tables of verdicts and of corrections: every claim with its verdict, and every error with its correction.

A row of the scoreboard has the number that tells most, and what is on record at full size. The errata have a page for
each paper that can be sent as it is, the gravest first.
"""

from collections import Counter

from bookpress.claims.evidence import Item, Part, Role, Settled, format_bound, format_number
from bookpress.claims.panel import IN_WORDS, breaking, set_label, set_number
from bookpress.claims.registry import Entry, Paper, ProofMark, Verdict
from bookpress.claims.statement import STATES, folds, heading, parts, place
from bookpress.site.book import Book
from bookpress.site.page import badge, badges, markdown_table, proof_badge

#: Stands over the claims that no paper makes.
OWN = (
    "These claims are the book's own: no paper makes them, and the counts above leave them out. *Proved here* means "
    "that the proof is on the claim's page, and that we ran what can be run of it."
)

_COLUMNS = ["claim", "what it is", "kind", "verdict", "proof", "measured", "in the paper, or the bound"]
_COLUMNS += ["for all inputs", "full size"]

#: From the gravest on: what is the matter, with what, and what is said of a proof that uses such a claim.
GRAVITY = (
    ("False", "The statement is false, and no similar statement is true.", "refuted"),
    (
        "True with a correction",
        "The statement is false as it stands. Another form is true, and its page proves it.",
        "corrected on its page",
    ),
    (
        "The proof fails",
        "The statement is true, but its proof or construction does not work.",
        "whose proof fails",
    ),
    (
        "The proof is repaired",
        "The statement is true. A step of its proof or construction fails, and its page repairs it.",
        "whose proof is repaired on its page",
    ),
    ("Misprint", "A slip of the pen; the text around it shows what is meant.", ""),
    ("Near the statement", "The statement is true; a remark, a figure or a number near it is not.", ""),
)

#: As many failing runs of the statement, and of its proof, as an entry of the errata names; its page has them all.
_NAMED = 3


def summary_page(book: Book) -> str:
    """Verdicts counted by paper; included by the front page and the scoreboard."""
    papers = book.registry.articles
    counted = [Counter(book.verdict(paper, entry) for entry in paper.claims) for paper in papers]
    total = sum(counted, Counter())
    names = [f"[{paper.short_title}](/papers/{paper.name}.md)" for paper in papers]
    rows = [
        [badge(verdict), *(str(counts[verdict] or "") for counts in counted), str(total[verdict])]
        for verdict in Verdict
        if total[verdict]
    ]
    rows += [["**claims**", *(f"**{counts.total()}**" for counts in counted), f"**{total.total()}**"]]
    heads = ["verdict", *names, "all"]
    return f"---\norphan: true\n---\n\n{markdown_table(heads, rows, numbers=range(1, len(heads)))}\n"


def scoreboard_page(book: Book) -> str:
    """Every claim of every paper. The empty box is where a script puts the filters; the tables are whole without it."""
    lines = [
        "# Scoreboard",
        "",
        "Every numbered item of the papers, with the verdict that its notebook computed. Nobody types a verdict: it "
        "follows from checks that could have failed and from controls that did fail. [How we decide](/deciding.md) "
        "explains the words. The claims of the book's own come last; the first table leaves them out.",
        "",
        "We show one measured number per claim, next to the paper's number where there is one; brackets hold an "
        "interval. *For all inputs* names the engine that has [settled](certificates.md) a claim, or a part of it, for "
        "every input. Where the paper's own size is too large for a laptop, the last column has the verdict of our "
        "full-size run, if there is one.",
        "",
        "```{include} summary.md\n:start-line: 3\n```",
        "",
        ":::{div} scoreboard-filters\n:::",
    ]
    for paper in book.registry.papers:
        cited = f"{paper.authors}: *{paper.title}* {{cite}}`{paper.cite}`." if paper.is_article else OWN
        scores = [_score(book, paper, entry) for entry in paper.claims]
        lines += ["", f"## {paper.short_title}", "", cited, "", markdown_table(_COLUMNS, scores)]
    return "\n".join(lines) + "\n"


def notebooks_list(book: Book, paper: Paper) -> str:
    """A paper's notebooks with what each settles; included by its chapter."""
    records = {name: book.records[name] for name in book.notebooks_of(paper)}
    rows = [[f"[{one.title}](/notebooks/{name}.ipynb)", badges(one.claims)] for name, one in records.items()]
    return f"---\norphan: true\n---\n\n{markdown_table(['page', 'claims'], rows)}\n"


def _score(book: Book, paper: Paper, entry: Entry) -> list[str]:
    verdict, claim = book.verdict(paper, entry), f"{paper.name}/{entry.id}"
    record = book.records.get(entry.notebook or "")
    label = f"{{claim:ref}}`{entry.label} <{claim}>`" if record else entry.label
    reason = f" {entry.why}" if verdict is Verdict.NOT_RUN and entry.why else ""
    settled = book.settled.get(claim)
    return [
        label,
        entry.title or entry.kind.value,
        entry.kind.value,
        badge(verdict) + reason,
        proof_badge(book.proof(paper, entry), not paper.is_article),
        *(_measured(settled) if settled else ("", "")),
        ", ".join(dict.fromkeys(one.engine for one in book.certificates(claim))),
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
        if fitting := next(filter(fits, shown), None):
            return fitting
    return None


def _measured(settled: Settled) -> tuple[str, str]:
    """What was measured, with its name and interval; and the printed number or the bound."""
    item = headline_item(settled)
    if item is None:
        return "", ""
    interval = f" ({' to '.join(map(format_number, item.interval))})" if item.interval else ""
    relation = "" if item.role is Role.NUMBER else IN_WORDS[item.relation]
    measured = set_number(format_number(item.measured) + interval)
    return f"{set_label(item.label)}: {measured}", relation + set_number(format_bound(item))


def _full_size(book: Book, paper: Paper, entry: Entry) -> str:
    """The verdict at the paper's own size, where the laptop run is smaller."""
    if settled := book.settled_at_full_size.get(f"{paper.name}/{entry.id}"):
        return badge(settled.verdict)
    return badge(Verdict.NOT_RUN) if entry.notebook in book.full_size else ""


def gravity(verdict: Verdict, proof: ProofMark | None) -> int:
    """The place in :data:`GRAVITY` that a verdict and the mark on the proof amount to."""
    if verdict is Verdict.REFUTED:
        return 0
    if verdict is Verdict.HOLDS_WITH_CORRECTION:
        return 1
    if proof is ProofMark.FAILS:
        return 2
    if proof is ProofMark.REPAIRED:
        return 3
    return 4 if verdict is Verdict.MISPRINTED or proof is ProofMark.MISPRINTED else 5


def errata_pages(book: Book) -> dict[str, str]:
    """The overview, and a page for each paper in which something is wrong."""
    wrong = {paper.name: _wrong(book, paper) for paper in book.registry.articles}
    papers = [paper for paper in book.registry.articles if wrong[paper.name]]
    pages = {f"errata-{paper.name}": _sheet(book, paper, wrong[paper.name]) for paper in papers}
    return {"errata": _overview(papers, wrong)} | pages


def _wrong(book: Book, paper: Paper) -> list[tuple[int, Entry]]:
    """What is wrong in a paper with how grave it is, the gravest first and in the paper's order."""
    found = [
        (gravity(book.verdict(paper, entry), book.proof(paper, entry)), entry)
        for entry in paper.claims
        if entry.is_wrong and entry.notebook in book.records
    ]
    return sorted(found, key=lambda grave: grave[0])


def _overview(papers: list[Paper], wrong: dict[str, list[tuple[int, Entry]]]) -> str:
    lines = [
        "# Errata",
        "",
        "Every error that we found, with its correction: one page per paper, the most serious first. Each entry gives "
        "the place, the paper's words, the run in which they fail, and what is right. We judge a statement and its "
        "proof separately. Each page prints as a sheet that can be sent to the authors.",
        "",
    ]
    rows = []
    for number, (name, meaning, _) in enumerate(GRAVITY):
        counts = [sum(grave == number for grave, _ in wrong[paper.name]) for paper in papers]
        rows += [[f"**{name}.** {meaning}", *(str(count or "") for count in counts)]] if any(counts) else []
    links = [f"[{paper.short_title}](errata-{paper.name}.md)" for paper in papers]
    return "\n".join([*lines, markdown_table(["", *links], rows, numbers=range(1, len(papers) + 1))]) + "\n"


def _sheet(book: Book, paper: Paper, wrong: list[tuple[int, Entry]]) -> str:
    lines = [
        f"# Errata of {paper.short_title}",
        "",
        f"Errors that we found in *{paper.title}* by {paper.authors} {{cite}}`{paper.cite}`, the most serious first.",
        "",
        "We read the text as extracted from a PDF, which can lose a sign, an index or a transpose. Entries marked so "
        "may be errors of the extraction and not of the paper.",
    ]
    for number, (name, meaning, _) in enumerate(GRAVITY):
        entries = [entry for grave, entry in wrong if grave == number]
        if entries:
            lines += ["", f"## {name}", "", meaning]
            lines += [line for entry in entries for line in _erratum(book, paper, entry)]
    return "\n".join(lines) + "\n"


def _erratum(book: Book, paper: Paper, entry: Entry) -> list[str]:
    claim = f"{paper.name}/{entry.id}"
    marks = [badge(book.verdict(paper, entry), claim=claim), proof_badge(book.proof(paper, entry))]
    notes = [where] if (where := place(entry)) else []
    notes += ["this may be an error of the text extraction"] if entry.text_layer else []
    notes += _premises_wrong(book, paper, entry)
    return [
        "",
        f"### {heading(entry)}",
        "",
        " ".join(mark for mark in marks if mark),
        "",
        *([f"*{'. '.join(note[0].upper() + note[1:] for note in notes)}.*", ""] if notes else []),
        *_wrong_and_right(entry, failing_runs(book.settled[claim])),
        f"{{claim:ref}}`The run, with a proof where there is one <{claim}>`",
    ]


def _wrong_and_right(entry: Entry, why: list[str]) -> list[str]:
    """The words of the paper, why they fail, what is right, and the slips."""
    if not entry.has_new_form:
        wrong, right = (entry.printed or "").strip(), (entry.corrected or "").strip()
        return [f"**The paper states.** {wrong}", "", *why, f"**What is right.** {right}", ""]
    shown = [(name, text) for name, text in parts(entry) if entry.differs or name == STATES]
    lines = [line for name, text in shown for line in (f"**{name}.** {text}", "")]
    slips = [line for title, text in folds(entry) for line in (f"**{title}.**", "", text, "")] if entry.slips else []
    return [*lines, *why, *slips]


def _premises_wrong(book: Book, paper: Paper, entry: Entry) -> list[str]:
    """What a claim's proof rests on and the paper has wrong, in words, but for what its own page has answered."""
    return [
        f"its proof uses {used.label}, {wrong}"
        for used in paper.claims
        if used.id in entry.proof_uses
        and used.id not in entry.answered
        and (wrong := GRAVITY[gravity(book.verdict(paper, used), book.proof(paper, used))][2])
    ]


def failing_runs(settled: Settled) -> list[str]:
    """The runs in which the printed form fails, as a list."""
    lines = []
    for part, what in ((Part.STATEMENT, "As stated"), (Part.PROOF, "In the proof")):
        runs = breaking(settled, part)
        lines += [f"- {what}: {run}." for run in runs[:_NAMED]]
        lines += [f"- {what}: {len(runs) - _NAMED} more on the page."] if len(runs) > _NAMED else []
    return ["**Why it fails.**", "", *lines, ""] if lines else []
