"""The errata: what is wrong in print, a page for each paper that can be sent as it is, the gravest first."""

from bookpress.claims.evidence import Part, Settled
from bookpress.claims.panel import breaking
from bookpress.claims.registry import Entry, Paper, ProofMark, Verdict
from bookpress.claims.statement import heading, place
from bookpress.site.book import Book
from bookpress.site.page import badge, proof_badge, table_row

#: From the gravest on: what is the matter, and with what.
GRAVITY = (
    ("False", "The statement is false, and nothing near it is true."),
    ("False as printed", "The statement is false as printed, and true in another form, which is proved on its page."),
    ("The proof fails", "The statement stands, and its proof or construction as printed does not."),
    (
        "The proof is repaired",
        "The statement stands; a step of its proof or construction is wrong in print, and mended.",
    ),
    ("Misprint", "What is meant is right, and what is written is not."),
    ("Beside the statement", "The statement stands; something beside it is not as printed."),
)


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
        if entry.printed and entry.notebook in book.records
    ]
    return sorted(found, key=lambda one: one[0])


def _overview(papers: list[Paper], wrong: dict[str, list[tuple[int, Entry]]]) -> str:
    lines = [
        "# Errata",
        "",
        "What is wrong in print, with the form that is right; a page for each paper, the gravest first. Each entry has "
        "the place, the words as printed, the run in which they fail, and the corrected form. A statement and its "
        "proof are judged apart. A page prints as a sheet that can be sent to its authors.",
        "",
        table_row(["", *(f"[{paper.short_title}](errata-{paper.name}.md)" for paper in papers)]),
        table_row(["---", *["---:"] * len(papers)]),
    ]
    for number, (name, meaning) in enumerate(GRAVITY):
        counts = [sum(grave == number for grave, _ in wrong[paper.name]) for paper in papers]
        if any(counts):
            lines.append(table_row([f"**{name}.** {meaning}", *(str(count or "") for count in counts)]))
    return "\n".join(lines) + "\n"


def _sheet(book: Book, paper: Paper, wrong: list[tuple[int, Entry]]) -> str:
    lines = [
        f"# Errata of {paper.short_title}",
        "",
        f"What is wrong in *{paper.title}* by {paper.authors} {{cite}}`{paper.cite}`, the gravest first.",
        "",
        "The text was read from a text layer, which may lose a sign, an index or a transpose: entries marked so may "
        "be its fault and not the paper's.",
    ]
    for number, (name, meaning) in enumerate(GRAVITY):
        entries = [entry for grave, entry in wrong if grave == number]
        if entries:
            lines += ["", f"## {name}", "", meaning]
            lines += [line for entry in entries for line in _erratum(book, paper, entry)]
    return "\n".join(lines) + "\n"


def _erratum(book: Book, paper: Paper, entry: Entry) -> list[str]:
    claim = f"{paper.name}/{entry.id}"
    marks = [badge(book.verdict(paper, entry), claim=claim), proof_badge(book.proof(paper, entry))]
    settled = next(one for one in book.records[entry.notebook or ""].claims if one.claim == claim)
    notes = [where] if (where := place(entry)) else []
    notes += ["this may be the text layer's fault"] if entry.text_layer else []
    notes += book.affected_by_errata(paper, entry)
    return [
        "",
        f"### {heading(entry)}",
        "",
        " ".join(mark for mark in marks if mark),
        "",
        *([f"*{'. '.join(note[0].upper() + note[1:] for note in notes)}.*", ""] if notes else []),
        f"**As printed.** {(entry.printed or '').strip()}",
        "",
        *_why(settled),
        f"**Corrected.** {(entry.corrected or '').strip()}",
        "",
        f"{{claim:ref}}`The run, with the proof where there is one <{claim}>`",
    ]


#: As many failing runs of the statement, and of its proof, as an entry names; its page has them all.
_NAMED = 3


def _why(settled: Settled) -> list[str]:
    """The runs in which the printed form fails."""
    said = []
    for part, what in ((Part.STATEMENT, "As printed"), (Part.PROOF, "In the proof as printed")):
        found = breaking(settled, part)
        more = f"; and {len(found) - _NAMED} more on the page" if len(found) > _NAMED else ""
        said += [f"{what}: {'; '.join(found[:_NAMED])}{more}."] if found else []
    return [f"**Why it fails.** {' '.join(said)}", ""] if said else []
