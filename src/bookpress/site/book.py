"""One book as its pages show it: the registry, the records of a profile, and what is known at full size."""

import json
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from bookpress.claims.evidence import reevaluate
from bookpress.claims.record import Record, RecordError, stray_claims
from bookpress.claims.registry import Paper, ProofMark, Registry, Verdict
from bookpress.claims.statement import name_of
from bookpress.layout import FULL, LAPTOP, Layout
from bookpress.notebooks.dependencies import Dependencies
from bookpress.notebooks.profile import full_size
from bookpress.notebooks.source import Notebook
from bookpress.site.full_size import points_section
from bookpress.site.markdown import badges
from bookpress.sweeps.figures import FigureSweep, figure_sweeps

#: Below the book's folder.
FINDINGS = Path("generated", "findings.json")


class Finding(NamedTuple):
    """What one claim came to: its verdict, and the page that settles it, if a run of it is in the book.

    ``certified`` claims have a certificate, for all that they state or for a part of it.

    ``of_article`` is false for a claim of the book's own, which the counts over all papers leave out.
    """

    label: str
    verdict: Verdict
    notebook: str | None
    of_article: bool = True
    certified: bool = False


class Findings(dict[str, Finding]):
    """Every claim of the book, by ``paper/id``."""

    def dumps(self) -> str:
        return json.dumps(self, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> "Findings":
        return cls(TypeAdapter(dict[str, Finding]).validate_json(path.read_bytes()))

    def count(self, what: str) -> int:
        """How many: a verdict, ``claims``, ``certified``, ``notebooks`` or ``papers``; of one paper: ``paper/what``.

        Without a paper, those of the articles: a chapter of the book's own is counted by its name only.

        Raises:
            ValueError: no such paper or verdict.
        """
        paper, _, kind = what.rpartition("/")
        papers = {claim: claim.partition("/")[0] for claim in self}
        counted = [claim for claim in self if (papers[claim] == paper if paper else self[claim].of_article)]
        if not counted:
            raise ValueError(f"no paper '{paper}'")
        counts = {
            "claims": len(counted),
            "certified": sum(self[claim].certified for claim in counted),
            "notebooks": len({self[claim].notebook for claim in counted} - {None}),
            "papers": len({papers[claim] for claim in counted}),
            **{verdict.value: sum(self[claim].verdict is verdict for claim in counted) for verdict in Verdict},
        }
        if kind not in counts:
            raise ValueError(f"no count '{kind}': there are {', '.join(counts)}")
        return counts[kind]


class Book:
    """The registry and the records of one book, as its pages show them."""

    def __init__(self, layout: Layout, profile: str) -> None:
        self.layout = layout
        self.registry = Registry.load(layout)
        self.full_size = full_size(layout)
        runs = {name: Record.of(layout, name, profile) for name in layout.notebooks()}
        self.records = {name: record for name, record in runs.items() if record}
        for name, record in self.records.items():
            if faults := stray_claims(name, record.claims, self.registry):
                raise RecordError(f"{name}: {'; '.join(faults)}")
        kept = {name: layout.full_size_record(name) for name in layout.notebooks()}
        self.full_size_records = {name: Record.read(path) for name, path in kept.items() if path.is_file()}
        for record in (*self.records.values(), *self.full_size_records.values()):
            record.claims = [reevaluate(settled, self.registry.entry(settled.claim)) for settled in record.claims]
        self._full_size_dependencies = Dependencies(layout, FULL if self.full_size else LAPTOP)
        self.settled, self.settled_at_full_size = (
            {settled.claim: settled for record in records.values() for settled in record.claims}
            for records in (self.records, self.full_size_records)
        )

    def verdict(self, claim: str) -> Verdict:
        return self.settled[claim].verdict if claim in self.settled else Verdict.NOT_RUN

    def proof(self, claim: str) -> ProofMark | None:
        """The mark on the proof or construction; ``None`` where there is none, or nothing has run."""
        return self.settled[claim].proof if claim in self.settled else None

    def findings(self) -> Findings:
        """Every claim's verdict, for the sentences that state one."""
        findings = Findings()
        for paper in self.registry.papers:
            for claim, entry in paper.by_name.items():
                page = entry.notebook if entry.notebook in self.records else None
                certified = claim in self.settled and bool(self.settled[claim].certificates)
                findings[claim] = Finding(name_of(entry), self.verdict(claim), page, paper.is_article, certified)
        return findings

    def full_size_run(self, name: str) -> str:
        """Whether a notebook's run at full size is recorded, in words; nothing where the laptop run is that run."""
        if full := self.full_size_records.get(name):
            fingerprint = self._full_size_dependencies.fingerprint(Notebook(name, self.layout))
            code = "" if full.fingerprint == fingerprint else " with earlier code"
            took = f"recorded{code}, {full.seconds:.0f} s on {full.device}"
            return f"{took}. {badges(full.claims)}"
        settings = self.full_size.get(name)
        return f"not run. {settings.cost or ''}".strip() if settings else ""

    @cached_property
    def _laptop_dependencies(self) -> Dependencies:
        return Dependencies(self.layout, LAPTOP)

    @cached_property
    def sweeps(self) -> list[FigureSweep]:
        """The sweeps of full-size figures, with the points there are."""
        return figure_sweeps(self.layout)

    def points_section(self, name: str) -> str:
        """What a page shows of its figures at full size, point by point."""
        sweeps = [figure for figure in self.sweeps if figure.page == name]
        makers = {figure.sweep.notebook: Notebook(figure.sweep.notebook, self.layout) for figure in sweeps}
        fingerprints = {maker: self._laptop_dependencies.fingerprint(notebook) for maker, notebook in makers.items()}
        return points_section(sweeps, fingerprints, self.layout)

    def titles(self) -> dict[str, str]:
        """The titles of the pages that have run, in the book's order."""
        names = [name for paper in self.registry.papers for name in self.notebooks_of(paper)]
        return {name: self.records[name].title for name in names}

    def notebooks_of(self, paper: Paper) -> list[str]:
        """The paper's notebooks: its spine, then the others in the order in which the registry first names them."""
        spine = [f"{paper.name}/{page}" for page in paper.spine]
        named = dict.fromkeys([*spine, *(entry.notebook for entry in paper.claims if entry.notebook)])
        rest = [name for name in self.records if name.startswith(f"{paper.name}/") and name not in named]
        return [name for name in named if name in self.records] + rest
