"""The pages that nobody writes: notebooks, scoreboard, errata, gallery, status and the table of contents."""

import shutil
from collections import Counter
from functools import cached_property

import yaml

from bookpress.evidence import judged_anew
from bookpress.files import write_whole
from bookpress.findings import FINDINGS, Finding, Findings
from bookpress.full_size import FigureSweep, figure_sweeps
from bookpress.full_size_pages import costs_page, points_section
from bookpress.layout import Layout
from bookpress.notebook import Notebook
from bookpress.package_page import package_pages
from bookpress.page import badge, badges, picture_block, proof_badge, table_row, write_page
from bookpress.profile import load_profile
from bookpress.profile_names import FULL, LAPTOP
from bookpress.reach import Reach
from bookpress.record import Record, RecordError, stray_claims
from bookpress.registry import Entry, Paper, ProofMark, Registry, Verdict
from bookpress.statement import heading, name_of

#: Stands in the scoreboard over the claims that no paper makes.
OWN = "Claims of the book's own, which none of the papers makes. The counts above leave them out."


class Book:
    """The registry and the records of one book, as its pages show them."""

    def __init__(self, layout: Layout, profile: str) -> None:
        self.layout = layout
        self.registry = Registry.load(layout)
        self.full_size = load_profile(FULL, layout) if (layout.profiles / f"{FULL}.yaml").is_file() else {}
        self.records = {
            name: record for name in layout.notebooks() if (record := Record.of(layout, name, profile)) is not None
        }
        for name, record in self.records.items():
            if faults := stray_claims(name, record.claims, self.registry):
                raise RecordError(f"{name}: {'; '.join(faults)}")
        self.kept = {name: Record.read(path) for name in layout.notebooks() if (path := layout.kept(name)).is_file()}
        for record in (*self.records.values(), *self.kept.values()):
            record.claims = [judged_anew(one, self.registry.entry(one.claim)) for one in record.claims]
        self.full_size_reach = Reach(layout, FULL if self.full_size else LAPTOP)
        self.found = _verdicts(self.records)
        self.proofs = {one.claim: one.proof for record in self.records.values() for one in record.claims}
        self.found_at_full_size = _verdicts(self.kept)

    def verdict(self, paper: Paper, entry: Entry) -> Verdict:
        return self.found.get(f"{paper.name}/{entry.id}", Verdict.NOT_RUN)

    def proof(self, paper: Paper, entry: Entry) -> ProofMark | None:
        """The mark on the proof or construction as printed; ``None`` where there is none, or nothing has run."""
        return self.proofs.get(f"{paper.name}/{entry.id}")

    def shaken(self, paper: Paper, entry: Entry) -> list[str]:
        """What a claim's proof rests on and the paper has wrong, in words, but for what its own page has answered."""
        return [
            f"its proof uses {used.label}, {wrong}"
            for used in paper.claims
            if used.id in entry.proof_uses and used.id not in entry.answered and (wrong := self._wrong(paper, used))
        ]

    def _wrong(self, paper: Paper, entry: Entry) -> str:
        match self.verdict(paper, entry), self.proof(paper, entry):
            case Verdict.REFUTED, _:
                return "refuted"
            case Verdict.HOLDS_WITH_CORRECTION, _:
                return "false as printed, corrected on its page"
            case _, ProofMark.REPAIRED:
                return "whose proof is repaired on its page"
            case _, ProofMark.FAILS:
                return "whose proof fails"
        return ""

    def findings(self) -> Findings:
        """Every claim's verdict, for the sentences that state one."""
        return Findings(
            {
                f"{paper.name}/{entry.id}": Finding(
                    name_of(entry),
                    self.verdict(paper, entry),
                    entry.notebook if entry.notebook in self.records else None,
                    paper.is_article,
                )
                for paper in self.registry.papers
                for entry in paper.claims
            }
        )

    def full_size_run(self, name: str) -> str:
        """Whether a notebook's run at full size is on record, in words; nothing where the laptop run is that run."""
        if full := self.kept.get(name):
            code = (
                ""
                if full.fingerprint == self.full_size_reach.fingerprint(Notebook(name, self.layout))
                else " with earlier code"
            )
            took = f"recorded{code}, {full.seconds:.0f} s on {full.environment.get('device', 'CPU')}"
            return f"{took}. {badges(full.claims)}"
        settings = self.full_size.get(name)
        return f"not run. {settings.cost or ''}".strip() if settings else ""

    @cached_property
    def sweeps(self) -> list[FigureSweep]:
        """The sweeps of full-size figures, with the points there are."""
        return figure_sweeps(self.layout)

    def points_section(self, name: str) -> str:
        """What a page shows of its figures at full size, point by point."""
        sweeps = [one for one in self.sweeps if one.page == name]
        reach = Reach(self.layout, LAPTOP)
        makers = {one.sweep.notebook for one in sweeps}
        return points_section(
            sweeps, {maker: reach.fingerprint(Notebook(maker, self.layout)) for maker in makers}, self.layout
        )

    def titles(self) -> dict[str, str]:
        """The titles of the pages that have run, in the book's order."""
        names = [name for paper in self.registry.papers for name in self.notebooks_of(paper)]
        return {name: self.records[name].title for name in names}

    def notebooks_of(self, paper: Paper) -> list[str]:
        """The paper's notebooks in the order in which the registry first names them."""
        named = dict.fromkeys(entry.notebook for entry in paper.claims if entry.notebook)
        rest = [name for name in self.records if name.startswith(f"{paper.name}/") and name not in named]
        return [name for name in named if name in self.records] + rest


def _verdicts(records: dict[str, Record]) -> dict[str, Verdict]:
    return {one.claim: one.verdict for record in records.values() for one in record.claims}


def bind_book(layout: Layout, profile: str) -> str:
    """Write every generated page; returns one line that says how many."""
    book = Book(layout, profile)
    for made in (layout.book / "notebooks", layout.book / "figures", layout.generated):
        shutil.rmtree(made, ignore_errors=True)
    for name, record in book.records.items():
        write_page(record, book.full_size_run(name), layout, book.points_section(name))
    pages = {
        "summary": summary_page(book),
        "scoreboard": scoreboard_page(book),
        "errata": errata_page(book),
        "gallery": gallery_page(book),
        "status": status_page(book),
        "full-size": costs_page(book.sweeps, book.full_size, book.kept, book.titles()),
        **{f"pages-{paper.name}": notebooks_list(book, paper) for paper in book.registry.papers},
        **package_pages(layout, book.registry.papers),
    }
    for name, text in pages.items():
        write_whole(layout.generated / f"{name}.md", text)
    write_whole(layout.book / FINDINGS, book.findings().dumps())
    write_whole(layout.book / "_toc.yml", contents(book))
    return f"{len(book.records)} notebooks and {len(pages)} pages bound"


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


def notebooks_list(book: Book, paper: Paper) -> str:
    """A paper's notebooks with what each settles; included by its chapter."""
    lines = ["---\norphan: true\n---\n", table_row(["page", "what it settles"]), table_row(["---"] * 2)]
    for name in book.notebooks_of(paper):
        settled = badges(book.records[name].claims)
        lines += [table_row([f"[{book.records[name].title}](/notebooks/{name}.ipynb)", settled])]
    return "\n".join(lines) + "\n"


def scoreboard_page(book: Book) -> str:
    lines = [
        "# Scoreboard",
        "",
        "Every numbered item of the papers, with the verdict that its notebook computed. A verdict is never "
        "typed: it follows from checks that can fail and from controls that were seen to fail.",
        "",
        "Where a paper's own size is too much for the book's laptop run, the last column has the verdict of the run at "
        "full size, if one is on record. Where it is blank, the two are one run, or there is none.",
        "",
        "```{include} summary.md\n:start-line: 3\n```",
    ]
    for paper in book.registry.papers:
        cited = f"{paper.authors}: *{paper.title}* {{cite}}`{paper.cite}`." if paper.is_article else OWN
        lines += ["", f"## {paper.short_title}", "", cited, ""]
        proof = "proof as printed" if paper.is_article else "proof on the page"
        lines += [
            table_row(["claim", "what it is", "verdict", proof, "full size"]),
            table_row(["---"] * 5),
        ]
        lines += [table_row(_score(book, paper, entry)) for entry in paper.claims]
    return "\n".join(lines) + "\n"


def _score(book: Book, paper: Paper, entry: Entry) -> list[str]:
    verdict = book.verdict(paper, entry)
    claim = f"{paper.name}/{entry.id}"
    label = f"{{claim:ref}}`{entry.label} <{claim}>`" if entry.notebook in book.records else entry.label
    reason = f" {entry.why}" if verdict is Verdict.NOT_RUN and entry.why else ""
    title, proof = entry.title or entry.kind.value, proof_badge(book.proof(paper, entry))
    return [label, title, badge(verdict) + reason, proof, _full_size(book, paper, entry)]


def _full_size(book: Book, paper: Paper, entry: Entry) -> str:
    """The verdict at the paper's own size, where the laptop run is smaller."""
    if found := book.found_at_full_size.get(f"{paper.name}/{entry.id}"):
        return badge(found)
    return badge(Verdict.NOT_RUN) if entry.notebook in book.full_size else ""


def errata_page(book: Book) -> str:
    lines = [
        "# Errata",
        "",
        "What is wrong in print, with the form that is right. A page's link leads to the run that shows both: the "
        "printed form failing and the corrected one passing.",
    ]
    for paper in book.registry.papers:
        wrong = [entry for entry in paper.claims if entry.printed and entry.notebook in book.records]
        if not wrong:
            continue
        lines += ["", f"## {paper.short_title}"]
        for entry in wrong:
            claim = f"{paper.name}/{entry.id}"
            marks = [badge(book.verdict(paper, entry), claim=claim), proof_badge(book.proof(paper, entry))]
            lines += ["", f"### {heading(entry)}", "", " ".join(mark for mark in marks if mark), ""]
            lines += [f"*{words[0].upper()}{words[1:]}.*\n" for words in book.shaken(paper, entry)]
            lines += [
                f"**Printed.** {(entry.printed or '').strip()}",
                "",
                f"**Corrected.** {(entry.corrected or '').strip()}",
            ]
            lines += ["", f"{{claim:ref}}`The run <{claim}>`"]
    return "\n".join(lines) + "\n"


def gallery_page(book: Book) -> str:
    lines = ["# Gallery", "", "Every figure of the book, drawn by the run behind it. A picture leads to its page."]
    for paper in book.registry.papers:
        figures = [(name, one) for name in book.notebooks_of(paper) for one in book.records[name].figures]
        if not figures:
            continue
        lines += ["", f"## {paper.short_title}", "", "::::::::{grid} 1 1 2 2", ":gutter: 3"]
        for name, one in figures:
            picture = picture_block(f"{name}-{one.name}", one.model_dump(), f"../notebooks/{name}.html")
            lines += ["", ":::::::{grid-item}", picture, ":::::::"]
        lines += ["::::::::"]
    return "\n".join(lines) + "\n"


def status_page(book: Book) -> str:
    seconds = sum(record.seconds for record in book.records.values())
    machines = sorted({_machine(record) for record in book.records.values()})
    several = len(machines) > 1
    lines = [
        "# Status",
        "",
        f"{len(book.records)} notebooks, {seconds:.0f} s of run time on {' and '.join(machines)}. The full-size column "
        "says whether a run at the papers' own parameters is on record.",
        "",
        table_row(["notebook", "seconds", *["ran on"] * several, "full size"]),
        table_row(["---", "---:", *["---"] * several, "---"]),
    ]
    for paper in book.registry.papers:
        for name in book.notebooks_of(paper):
            record = book.records[name]
            full_size = book.full_size_run(name) or "the laptop run is full size"
            title = f"[{record.title}](/notebooks/{name}.ipynb)"
            lines.append(table_row([title, f"{record.seconds:.1f}", *[_machine(record)] * several, full_size]))
    return "\n".join(lines) + "\n"


def _machine(record: Record) -> str:
    ran_on = record.environment
    return f"{ran_on.get('device', 'CPU')} (Python {ran_on.get('python', '?')}, torch {ran_on.get('torch', '?')})"


def contents(book: Book) -> str:
    """The table of contents, in the registry's order."""
    chapters: list[dict[str, object]] = []
    own: list[dict[str, object]] = []
    for paper in book.registry.papers:
        chapter: dict[str, object] = {"file": f"papers/{paper.name}"}
        sections = [
            {"file": f"notebooks/{name}", "title": Notebook(name, book.layout).title}
            for name in book.notebooks_of(paper)
        ]
        (chapters if paper.is_article else own).append(chapter | ({"sections": sections} if sections else {}))
    book_pages = ["generated/scoreboard", "generated/errata", "generated/gallery", "generated/status"]
    book_pages += ["generated/full-size"]
    package: dict[str, object] = {"file": "generated/package"}
    rooms = [f"generated/package-{paper.name}" for paper in book.registry.papers]
    rooms = [room for room in rooms if (book.layout.book / f"{room}.md").is_file()]
    package |= {"sections": [{"file": room} for room in rooms]} if rooms else {}
    reading = ["notation", "rerun", "contributing", "references"]
    parts = [
        {"caption": "What was found", "chapters": [{"file": page} for page in book_pages]},
        {"caption": "The papers", "chapters": chapters},
        *([{"caption": "Across the papers", "chapters": own}] if own else []),
        {
            "caption": "About the book",
            "chapters": [{"file": reading[0]}, package, *({"file": page} for page in reading[1:])],
        },
    ]
    text: str = yaml.safe_dump(
        {"format": "jb-book", "root": "index", "parts": parts}, sort_keys=False, allow_unicode=True
    )
    return text
