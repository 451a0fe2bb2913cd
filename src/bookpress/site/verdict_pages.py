"""The pages of verdicts, corrections and certificates: every claim, every error, and every proof by a machine."""

from collections import Counter
from typing import Any

from bookpress.claims.evidence import Certified, Item, Part, Role, Settled, format_bound, format_number
from bookpress.claims.panel import IN_WORDS, breaking, markdown_table, set_label, set_number
from bookpress.claims.registry import Entry, Paper, ProofMark, Verdict
from bookpress.claims.statement import STATES, folds, parts, place
from bookpress.files import write_whole
from bookpress.site.book import Book
from bookpress.site.markdown import badge, badges, proof_badge, render

#: book.js and page.css know the columns by their place.
_COLUMNS = ["claim", "what it is", "kind", "verdict", "proof", "measured", "in the paper, or the bound"]
_COLUMNS += ["for all inputs", "full size"]


#: How grave errors are, from the gravest on: what is the matter, and what it means.
GRAVITY = {
    "False": "The statement is false, and no similar statement is true.",
    "True with a correction": "The statement is false as it stands. Another form is true, and its page proves it.",
    "The proof fails": "The statement is true, but its proof or construction does not work.",
    "The proof is repaired": "The statement is true. A step of its proof or construction fails; its page repairs it.",
    "Misprint": "A slip of the pen; the text around it shows what is meant.",
    "Near the statement": "The statement is true; a remark, a figure or a number near it is not.",
}
_GRAVE: dict[str | None, int] = {
    Verdict.REFUTED: 0,
    Verdict.HOLDS_WITH_CORRECTION: 1,
    ProofMark.FAILS: 2,
    ProofMark.REPAIRED: 3,
}
_GRAVE |= {Verdict.MISPRINTED: 4, ProofMark.MISPRINTED: 4}
#: What is said of the four gravest where another proof uses such a claim.
_OF_PREMISE = dict(
    enumerate(["refuted", "corrected on its page", "whose proof fails", "whose proof is repaired on its page"])
)


def summary_page(book: Book) -> str:
    """Verdicts counted by paper; included by the front page and the scoreboard."""
    papers = book.registry.articles
    counted = [Counter(map(book.verdict, paper.by_name)) for paper in papers]
    total = sum(counted, Counter())
    names = [f"[{paper.short_title}](/papers/{paper.name}.md)" for paper in papers]
    rows = [
        [badge(verdict), *(str(counts[verdict] or "") for counts in counted), str(total[verdict])]
        for verdict in Verdict
        if total[verdict]
    ]
    rows += [["**claims**", *(f"**{counts.total()}**" for counts in counted), f"**{total.total()}**"]]
    return _included(["verdict", *names, "all"], rows, range(1, len(names) + 2))


def notebooks_list(book: Book, paper: Paper) -> str:
    """A paper's notebooks with what each settles; included by its chapter."""
    records = {name: book.records[name] for name in book.notebooks_of(paper)}
    rows = [[f"[{record.title}](/notebooks/{name}.ipynb)", badges(record.claims)] for name, record in records.items()]
    return _included(["page", "claims"], rows)


def _included(heads: list[str], rows: list[list[str]], numbers: range = range(0)) -> str:
    """A page of one table, which others include."""
    return f"---\norphan: true\n---\n\n{markdown_table(heads, rows, numbers)}\n"


def scoreboard_page(book: Book) -> str:
    """Every claim of every paper. The empty box is where a script puts the filters; the tables are whole without it."""
    papers = book.registry.papers
    scores = {paper.name: [_score(book, *claim) for claim in paper.by_name.items()] for paper in papers}
    return render("scoreboard", papers=papers, columns=_COLUMNS, scores=scores)


def _score(book: Book, claim: str, entry: Entry) -> list[str]:
    verdict, settled = book.verdict(claim), book.settled.get(claim)
    reason = f" {entry.why}" if verdict is Verdict.NOT_RUN and entry.why else ""
    return [
        f"{{claim:ref}}`{entry.label} <{claim}>`" if entry.notebook in book.records else entry.label,
        entry.title or entry.kind.value,
        entry.kind.value,
        badge(verdict) + reason,
        proof_badge(book.proof(claim)),
        *(_measured(settled) if settled else ("", "")),
        ", ".join(dict.fromkeys(one.engine for one in settled.certificates)) if settled else "",
        _full_size(book, claim, entry) if settled else "",
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


def _full_size(book: Book, claim: str, entry: Entry) -> str:
    """The verdict at the paper's own size, where the laptop run is smaller."""
    if settled := book.settled_at_full_size.get(claim):
        return badge(settled.verdict)
    return badge(Verdict.NOT_RUN) if entry.notebook in book.full_size else ""


def gravity(verdict: Verdict, proof: ProofMark | None) -> int:
    """The place in :data:`GRAVITY` that a verdict and the mark on the proof amount to."""
    return min(_GRAVE.get(verdict, len(GRAVITY) - 1), _GRAVE.get(proof, len(GRAVITY) - 1))


def errata_pages(book: Book) -> dict[str, str]:
    """The overview, and a page for each paper in which something is wrong, the gravest errors first."""
    wrong = [(paper, errata) for paper in book.registry.articles if (errata := _errata(book, paper))]
    rows = []
    for number, (name, meaning) in enumerate(GRAVITY.items()):
        counts = [sum(erratum["grave"] == number for erratum in errata) for _, errata in wrong]
        rows += [[f"**{name}.** {meaning}", *(str(count or "") for count in counts)]] if any(counts) else []
    links = [f"[{paper.short_title}](errata-{paper.name}.md)" for paper, _ in wrong]
    sheets = {
        f"errata-{paper.name}": render("errata-sheet", book=book, paper=paper, wrong=errata, gravity=[*GRAVITY.items()])
        for paper, errata in wrong
    }
    return {"errata": render("errata", heads=["", *links], rows=rows, numbers=range(1, len(links) + 1))} | sheets


def _errata(book: Book, paper: Paper) -> list[dict[str, Any]]:
    """What is wrong in a paper, in the paper's order, as the template of its sheet takes it."""
    errata: list[dict[str, Any]] = []
    for claim, entry in paper.by_name.items():
        if not (entry.is_wrong and entry.notebook in book.records):
            continue
        notes = [place(entry), "this may be an error of the text extraction" if entry.text_layer else ""]
        notes = [note[0].upper() + note[1:] for note in [*notes, *_premises_wrong(book, paper, entry)] if note]
        states = [(name, text) for name, text in parts(entry) if entry.differs or name == STATES]
        slips = [(title, f"\n\n{text}") for title, text in folds(entry)] if entry.slips else []
        grave = gravity(book.verdict(claim), book.proof(claim))
        kinds = {"As stated": Part.STATEMENT, "In the proof": Part.PROOF}
        failing = {words: breaking(book.settled[claim], part) for words, part in kinds.items()}
        texts = {"states": states, "failing": failing, "right": slips}
        errata.append({"grave": grave, "claim": claim, "entry": entry, "notes": notes, **texts})
    return errata


def _premises_wrong(book: Book, paper: Paper, entry: Entry) -> list[str]:
    """What a claim's proof rests on and the paper has wrong, in words, except for what its own page has answered."""
    return [
        f"its proof uses {used.label}, {wrong}"
        for claim, used in paper.by_name.items()
        if used.id in {*entry.proof_uses} - {*entry.answered}
        and (wrong := _OF_PREMISE.get(gravity(book.verdict(claim), book.proof(claim))))
    ]


def certificates_page(book: Book) -> str:
    """What a machine has checked for all inputs; every question is written as it was put, to be downloaded."""
    claims: dict[str, dict[str, Certified]] = {}
    for claim, settled in book.settled.items():
        for number, certificate in enumerate(settled.certificates, start=1):
            ending = "smt2" if "(check-sat)" in certificate.question else "txt"
            file = f"certificates/{claim.replace('/', '-')}-{number}.{ending}"
            write_whole(book.layout.generated / file, certificate.question + "\n")
            claims.setdefault(claim, {})[file] = certificate
    named = {paper.short_title: [claim for claim in paper.by_name if claim in claims] for paper in book.registry.papers}
    return render("certificates", book=book, claims=claims, named=named, count=sum(map(len, claims.values())))
