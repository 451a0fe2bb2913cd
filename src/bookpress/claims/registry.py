"""The claims registry: what the book sets out to settle, read from ``book/claims/<paper>.yaml``."""

import difflib
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bookpress.exits import Exit, Failure
from bookpress.files import load_yaml
from bookpress.layout import Layout, files_of


class RegistryError(Failure, code=Exit.BAD_REGISTRY):
    """A claims file does not fit its schema, or a claim that no file holds was looked up."""


class Kind(StrEnum):
    """What the paper calls the item."""

    ALGORITHM = "algorithm"
    ASSUMPTION = "assumption"
    CONSTRUCTION = "construction"
    COROLLARY = "corollary"
    DEFINITION = "definition"
    EXAMPLE = "example"
    FIGURE = "figure"
    LEMMA = "lemma"
    PROPOSITION = "proposition"
    REMARK = "remark"
    TABLE = "table"
    THEOREM = "theorem"

    @property
    def is_measured(self) -> bool:
        """Figures and tables report what was measured: they are reproduced or not, rather than true or false."""
        return self in (Kind.FIGURE, Kind.TABLE)

    @property
    def has_proof(self) -> bool:
        """What a paper proves or builds, so that the page owes a word on the paper's proof or construction."""
        return self in (Kind.CONSTRUCTION, Kind.COROLLARY, Kind.LEMMA, Kind.PROPOSITION, Kind.THEOREM)


class Verdict(StrEnum):
    """The verdict on a statement, a figure or a table."""

    HOLDS = "holds"
    MISPRINTED = "misprinted"
    HOLDS_WITH_CORRECTION = "holds with correction"
    REFUTED = "refuted"
    REPRODUCED = "reproduced"
    PARTLY_REPRODUCED = "partly reproduced"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "undecided here"
    STAND_IN = "stand-in"
    NOT_RUN = "not run"


class ProofMark(StrEnum):
    """The mark on the paper's proof or construction. One that ``fails`` has no repair, as of a refuted statement.

    The book's own proof of a claim that no paper makes is ``proved here``.
    """

    AS_PRINTED = "as printed"
    PROVED_HERE = "proved here"
    MISPRINTED = "misprinted"
    REPAIRED = "repaired"
    FAILS = "fails"
    NOT_CHECKED = "not checked"


WRONG_PROOFS = {ProofMark.MISPRINTED, ProofMark.REPAIRED, ProofMark.FAILS}


class Entry(BaseModel):
    """One claim of a paper, in MyST Markdown.

    ``says`` is the paper's claim; where it is not right, ``holds`` is what is true and ``differs`` what has changed.
    ``slips`` are errors of writing, ``beyond`` is what the book proves in addition, ``set_after`` a threshold that was
    chosen when runs had been seen. A claim of the book's own has ``holds`` and no ``says``. ``text_layer`` marks a
    fault that may be an error of the text that was read.

    ``notebook`` is the page that settles the claim, as ``paper/name``; ``expected`` and ``proof`` are what its evidence
    must lead to. A claim that no notebook settles says ``why``. ``uses`` and ``proof_uses`` are the ids of what the
    statement and its proof rest on, ``answered`` those of them whose fault the claim's page has dealt with.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    label: str = Field(min_length=1)
    title: str | None = None
    kind: Kind
    where: str | None = None
    says: str | None = None
    holds: str | None = None
    differs: str | None = None
    slips: tuple[str, ...] = ()
    beyond: str | None = None
    set_after: str | None = None
    text_layer: bool = False
    check: str = Field(min_length=1)
    notebook: str | None = Field(default=None, pattern=r"^[a-z0-9-]+/[a-z0-9_]+$")
    expected: Verdict = Verdict.NOT_RUN
    proof: ProofMark | None = None
    why: str | None = None
    uses: tuple[str, ...] = ()
    proof_uses: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()

    @property
    def expected_proof(self) -> ProofMark | None:
        """The mark that the evidence must lead to; what has a proof and says nothing of it is not checked."""
        return self.proof or (ProofMark.NOT_CHECKED if self.kind.has_proof else None)

    @property
    def is_own(self) -> bool:
        """Whether the claim is the book's own."""
        return self.holds is not None and self.says is None

    @property
    def is_wrong(self) -> bool:
        """Whether the paper has something wrong here, be it a slip."""
        return bool(self.differs or self.slips)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.notebook is None and self.expected is not Verdict.NOT_RUN:
            raise ValueError("a claim without a notebook can only be expected 'not run'")
        if self.expected is Verdict.NOT_RUN and not self.why:
            raise ValueError("a claim that is not run must say why")
        if self.notebook is not None and self.says is None and self.holds is None:
            raise ValueError("a claim with a notebook needs 'says', or 'holds' where it is the book's own")
        if stray := set(self.answered) - set(self.proof_uses):
            raise ValueError(f"'answered' names what 'proof_uses' does not: {', '.join(sorted(stray))}")
        if self.says is not None and (self.holds is None) != (self.differs is None):
            raise ValueError("'holds' and 'differs' come together")
        wrong = {Verdict.MISPRINTED, Verdict.HOLDS_WITH_CORRECTION, Verdict.REFUTED}
        if not self.is_wrong and (self.expected in wrong or self.proof in WRONG_PROOFS):
            raise ValueError(
                f"a claim '{self.expected}', proof '{self.proof}', must say what is wrong and what is right"
            )
        return self


class Paper(BaseModel):
    """The claims of one paper, in the paper's order; ``number`` is the paper's place in the book.

    A chapter of the book's own has neither ``authors`` nor a reference to ``cite``. ``spine`` has the pages to read, in
    their order; the others are for reference.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z-]+$")
    number: int = Field(ge=1)
    title: str
    short_title: str
    authors: str | None = None
    cite: str | None = None
    spine: list[str] = Field(default=[], max_length=9)
    claims: list[Entry]

    @property
    def is_article(self) -> bool:
        """Whether somebody published it; else it is a chapter of the book's own."""
        return self.cite is not None

    @property
    def by_name(self) -> dict[str, Entry]:
        """The claims by ``paper/id``."""
        return {f"{self.name}/{claim.id}": claim for claim in self.claims}

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if (self.authors is None) != (self.cite is None):
            raise ValueError("'authors' and 'cite' come together")
        if repeated := _repeated(claim.id for claim in self.claims):
            raise ValueError(f"claim id '{repeated[0]}' is given twice")
        used = {claim.id: (*claim.uses, *claim.proof_uses) for claim in self.claims}
        for claim_id, names in used.items():
            if unknown := [name for name in names if name not in used]:
                raise ValueError(f"claim '{claim_id}' rests on '{unknown[0]}', which the paper's claims do not hold")
        try:
            TopologicalSorter(used).prepare()
        except CycleError as error:
            raise ValueError("claims rest on each other in a circle: " + " -> ".join(error.args[1])) from error
        return self


class Registry(BaseModel):
    """Every claim of the book."""

    papers: list[Paper]

    @classmethod
    def load(cls, layout: Layout | None = None) -> "Registry":
        """Read all claims files.

        Raises:
            RegistryError: one is not YAML or does not fit the schema; one line for each fault, naming the claim.
        """
        folder = (layout or Layout.here()).checked().claims
        states = [(path, path.stat()) for path in files_of(folder, "*.yaml")]
        papers = [_read(path, state.st_mtime_ns, state.st_size) for path, state in states]
        for field in ("name", "number"):
            if repeated := _repeated(getattr(paper, field) for paper in papers):
                raise RegistryError(f"two claims files have the {field} {repeated[0]!r}")
        return cls(papers=sorted(papers, key=lambda paper: paper.number))

    @property
    def articles(self) -> list[Paper]:
        """The papers that somebody published, without the chapters of the book's own."""
        return [paper for paper in self.papers if paper.is_article]

    @property
    def claims(self) -> dict[str, Entry]:
        """The claims of all papers by ``paper/id``."""
        return {name: entry for paper in self.papers for name, entry in paper.by_name.items()}

    def entry(self, claim: str) -> Entry:
        """The entry of ``paper/id``.

        Raises:
            RegistryError: no such claim; the message lists the nearest.
        """
        if claim in (claims := self.claims):
            return claims[claim]
        near = difflib.get_close_matches(claim, claims, n=3, cutoff=0.3)
        raise RegistryError(f"unknown claim '{claim}'; nearest: {', '.join(near) or 'none'}")

    def of_notebook(self, notebook: str) -> dict[str, Entry]:
        """The claims that a notebook is to settle, keyed ``paper/id``."""
        return {name: entry for name, entry in self.claims.items() if entry.notebook == notebook}


@lru_cache
def _read(path: Path, time: int, size: int) -> Paper:
    """Read a claims file, again only where its time or size has changed: every claim of a page loads the registry."""
    try:
        content = load_yaml(path)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RegistryError(f"{path.name} is not YAML: {error}") from error
    try:
        return Paper.model_validate(content)
    except ValidationError as error:
        faults = [f"{path.name}: {_place(fault['loc'], content)}: {fault['msg']}" for fault in error.errors()]
        raise RegistryError("\n".join(faults)) from error


def _place(location: tuple[int | str, ...], content: object) -> str:
    """Name the faulty field by the claim's id instead of its number in the list."""
    match location, content:
        case ("claims", int(number), *rest), {"claims": [*claims]}:
            claim = claims[number]
            name = claim.get("id") if isinstance(claim, dict) else None
            return ", ".join([f"claim '{name or f'number {number}'}'", *map(str, rest)])
    return ", ".join(map(str, location)) or "the file"


def _repeated(values: Iterable[Any]) -> list[Any]:
    return [value for value, count in Counter(values).items() if count > 1]
