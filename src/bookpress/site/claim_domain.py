"""Claims on the site: the box that states one, badges and links to it, counts of verdicts, its entries in the index.

````{claim} linear-attention/lemma-4-4```` is the box; ``{claim:ref}`the lemma <linear-attention/lemma-4-4>` `` and
``{verdict}`Lemma 4.4: holds <linear-attention/lemma-4-4>` `` lead to it from every page.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlencode

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains import Domain, ObjType
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode, split_explicit_title

from bookpress.claims.panel import CERTIFIED, proof_class, verdict_class
from bookpress.claims.registry import Paper, ProofMark, Registry, RegistryError, Verdict
from bookpress.claims.statement import BEYOND, CHANGED, STATES, TRUE, anchor, heading, other_labels, short_label
from bookpress.layout import Layout
from bookpress.site.book import FINDINGS, Findings
from bookpress.site.map import node_labels
from bookpress.site.markdown import render

Mark = TypeVar("Mark", Verdict, ProofMark)

#: Classes of the parts of a box, by their headings.
_KINDS = {STATES: "claim-stated claim-says", TRUE: "claim-stated claim-true", CHANGED: "claim-stated claim-changed"}

#: Badges of one relation that a note shows; those beyond are folded, so that no note is much longer than its box.
_SHOWN = 9


class ClaimDirective(SphinxDirective):
    """The box of one claim: its heading, its place in the paper, and what the paper states before what is true.

    A note beside it, in the margin of a wide screen, leads to what the claim rests on and to what rests on it.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        claim = self.arguments[0]
        domain = cast(ClaimDomain, self.env.get_domain("claim"))
        try:
            entry = domain.registry.entry(claim)
        except RegistryError as error:
            raise self.error(str(error)) from error
        self.env.note_dependency(str(domain.layout.claims / f"{claim.partition('/')[0]}.yaml"))
        related: dict[str, list[str]] = {}
        for relation, claims in related_claims(domain.registry, claim).items():
            labels = node_labels([domain.registry.entry(other) for other in claims])
            badges = [f"{{verdict-of}}`{label} <{other}>`" for other, label in zip(claims, labels, strict=True)]
            related |= {relation: badges} if badges else {}
        verdict, fixed = read_findings(self.env)[claim].verdict, {"shown": _SHOWN, "kinds": _KINDS, "beyond": BEYOND}
        text = render("claim", claim=claim, entry=entry, verdict=verdict, related=related, **fixed)
        whole = nodes.container(classes=["claim-and-note"])
        self.state.nested_parse(StringList(text.split("\n"), source=self.env.docname), 0, whole)
        paper = next(paper.short_title for paper in domain.papers if claim.startswith(f"{paper.name}/"))
        numbers = [f"{label}; {paper}" for label in (short_label(entry), *other_labels(entry))]
        # Main entries are those that a search puts first.
        return [addnodes.index(entries=[("single", each, anchor(claim), "main", None) for each in numbers]), whole]


def related_claims(registry: Registry, claim: str) -> dict[str, list[str]]:
    """What a claim rests on, what only its proof rests on, and what rests on it, in the paper's order."""
    paper = next(paper for paper in registry.papers if paper.name == claim.partition("/")[0])
    entry = registry.entry(claim)
    related = {
        "Rests on": [other for other in paper.claims if other.id in entry.uses],
        "Its proof rests on": [other for other in paper.claims if other.id in {*entry.proof_uses} - {*entry.uses}],
        "What rests on it": [other for other in paper.claims if entry.id in (*other.uses, *other.proof_uses)],
    }
    return {relation: [f"{paper.name}/{other.id}" for other in others] for relation, others in related.items()}


def link_to_claim(claim: str, shown: nodes.Node, page: str) -> addnodes.pending_xref:
    """A link of ``page`` to the box of a claim."""
    target = {"refdomain": "claim", "reftype": "ref", "reftarget": claim}
    return addnodes.pending_xref("", shown, refdoc=page, refexplicit=True, **target)


class _Role(SphinxRole):
    """A role whose text names something; an unknown name is an error of the page."""

    def __init__(self, show: Callable[[str, BuildEnvironment], list[nodes.Node]]) -> None:
        super().__init__()
        self._show = show

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            return self._show(self.text, self.env), []
        except ValueError as error:
            message = self.inliner.reporter.error(f"{self.name}: {error}", line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]


def show_verdict(text: str, env: BuildEnvironment) -> list[nodes.Node]:
    """A badge: ``{verdict}`holds` ``, or ``{verdict}`Lemma 4.4: holds <paper/id>` ``, which leads to the claim."""
    leads, words, claim = split_explicit_title(text)
    verdict = words.rpartition(": ")[2].removesuffix(CERTIFIED)
    shown = badge_node(_named(Verdict, verdict), words)
    return [link_to_claim(claim, shown, env.docname) if leads else shown]


def show_proof(text: str, env: BuildEnvironment) -> list[nodes.Node]:
    """A badge for the mark on a proof: ``{proof}`repaired` ``, ``{proof}`proved here` ``."""
    return [nodes.inline("", text, classes=["proof-mark", proof_class(_named(ProofMark, text))])]


def show_count(text: str, env: BuildEnvironment) -> list[nodes.Node]:
    """``{count}`refuted` ``, ``{count}`linear-attention/claims` ``: see :meth:`Findings.count`."""
    return [nodes.Text(str(read_findings(env).count(text)))]


def show_tally(text: str, env: BuildEnvironment) -> list[nodes.Node]:
    """``{tally}`all` ``, ``{tally}`memorization` ``: counts by verdict, each a link to its claims."""
    findings, paper = read_findings(env), "" if text == "all" else f"{text}/"
    scoreboard = env.app.builder.get_relative_uri(env.docname, "generated/scoreboard")
    counts = {verdict: findings.count(f"{paper}{verdict}") for verdict in Verdict}
    papers = cast(ClaimDomain, env.get_domain("claim")).papers
    titles = [("paper", one.short_title) for one in papers if one.name == text]
    parts: list[nodes.Node] = []
    for verdict, number in [(verdict, number) for verdict, number in counts.items() if number]:
        words = verdict.value if number == 1 else verdict.value.replace("holds", "hold")
        parts += [nodes.Text(", ")] if parts else []
        filters = urlencode([("verdict", verdict.value), *titles])
        pill = nodes.reference("", "", badge_node(verdict, words), refuri=f"{scoreboard}?{filters}")
        parts += [nodes.inline("", f"{number} ", pill, classes=["tally"])]
    return parts


def show_verdict_of(text: str, env: BuildEnvironment) -> list[nodes.Node]:
    """``{verdict-of}`linear-attention/lemma-4-4` ``: a badge that leads to the claim.

    Of ``{verdict-of}`Lemma 4.4 <linear-attention/lemma-4-4>` `` the verdict is in the colour, and read out.
    """
    named, words, claim = split_explicit_title(text)
    finding = read_findings(env).get(claim)
    if finding is None:
        raise ValueError(f"no claim '{claim}'")
    verdict = f": {finding.verdict.value}"
    shown = badge_node(finding.verdict, words if named else finding.label + verdict)
    if named:
        shown += nodes.inline("", verdict, classes=["visually-hidden"])
    return [link_to_claim(claim, shown, env.docname) if finding.notebook else shown]


def badge_node(verdict: Verdict, words: str) -> nodes.inline:
    """Words on the ground of a verdict's colour."""
    return nodes.inline("", words, classes=["verdict", verdict_class(verdict)])


def _named(kind: type[Mark], word: str) -> Mark:
    if word not in kind.__members__.values():
        raise ValueError(f"must be one of {', '.join(kind.__members__.values())}; got {word!r}")
    return kind(word)


def read_findings(env: BuildEnvironment) -> Findings:
    """Every claim's verdict; the page that is read is built again when one changes."""
    path = Path(env.srcdir, FINDINGS)
    env.note_dependency(str(path))
    return Findings.read(path)


class ClaimDomain(Domain):
    """Where each claim is stated."""

    name = "claim"
    label = "claims"
    object_types = {"claim": ObjType("claim", "ref")}  # noqa: RUF012 (Sphinx declares it so)
    roles = {"ref": XRefRole(innernodeclass=nodes.inline, warn_dangling=True)}  # noqa: RUF012

    @cached_property
    def layout(self) -> Layout:
        return Layout(Path(self.env.srcdir).parent)

    @cached_property
    def registry(self) -> Registry:
        return Registry.load(self.layout)

    @property
    def papers(self) -> list[Paper]:
        """The papers and chapters of the book; a site may have none."""
        return self.registry.papers if self.layout.claims.is_dir() else []

    def merge_domaindata(self, docnames: Iterable[str], otherdata: dict[str, Any]) -> None:
        """Do nothing: the standard domain keeps where each box is."""

    def _box(self, claim: str) -> tuple[str, str] | None:
        """The page of a claim's box and the box's id."""
        return cast(StandardDomain, self.env.get_domain("std")).anonlabels.get(anchor(claim))

    def resolve_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        typ: str,
        target: str,
        node: addnodes.pending_xref,
        contnode: nodes.Element,
    ) -> nodes.Element | None:
        if (box := self._box(target)) is None:
            return None
        words = heading(self.registry.entry(target))
        shown = contnode if node["refexplicit"] else nodes.inline("", words)
        return make_refnode(builder, fromdocname, *box, shown, words)

    def resolve_any_xref(self, *_: Any) -> list[tuple[str, nodes.Element]]:
        return []

    def get_objects(self) -> Iterable[tuple[str, str, str, str, str, int]]:
        for paper in self.papers:
            for entry in paper.claims:
                if box := self._box(claim := f"{paper.name}/{entry.id}"):
                    yield claim, f"{heading(entry)} · {paper.short_title}", "claim", *box, 1


def setup(app: Sphinx) -> None:
    app.add_domain(ClaimDomain)
    app.add_directive("claim", ClaimDirective)
    roles = {"verdict": show_verdict, "proof": show_proof, "count": show_count, "tally": show_tally}
    for name, show in (roles | {"verdict-of": show_verdict_of}).items():
        app.add_role(name, _Role(show))
