"""Claims on the site: the box that states one, badges and links to it, its entries in the index and the search.

````{claim} linear-attention/lemma-4-4```` is the box; ``{claim:ref}`the lemma <linear-attention/lemma-4-4>` `` and
``{verdict}`Lemma 4.4: holds <linear-attention/lemma-4-4>` `` lead to it from every page.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains import Domain, ObjType
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode

from bookpress.claims.panel import PROVED_HERE, proof_class, verdict_class
from bookpress.claims.registry import Entry, ProofMark, Registry, RegistryError, Verdict
from bookpress.claims.statement import PRINTED_PARTS, anchor, heading, other_labels, parts, place, short_label
from bookpress.layout import Layout
from bookpress.site.findings import FINDINGS, Finding, Findings
from bookpress.site.map import node_labels

#: How a claim's name is looked up in the domain's data: page, id of the box, words for the search.
Place = tuple[str, str, str]

#: Badges of one relation that a note shows; those beyond are folded, so that no note is much longer than its box.
_SHOWN = 9


class ClaimDirective(SphinxDirective):
    """The box of one claim: its heading, its place in the paper, and what is printed before what is right.

    A note beside it, in the margin of a wide screen, holds what is within the directive, and leads to what the claim
    rests on and to what rests on it.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        claim = self.arguments[0]
        domain = cast(ClaimDomain, self.env.get_domain("claim"))
        try:
            entry = domain.registry.entry(claim)
        except RegistryError as error:
            raise self.error(str(error)) from error
        domain.note(claim, heading(entry))
        self.env.note_dependency(str(domain.layout.claims / f"{claim.partition('/')[0]}.yaml"))
        box = nodes.admonition("", classes=["claim", f"claim-{entry.kind.value}"], ids=[anchor(claim)])
        box["names"].append(anchor(claim))
        self.state.document.note_explicit_target(box)
        title, _ = self.state.inline_text(heading(entry), self.lineno)
        box += nodes.title("", "", *title)
        if where := place(entry):
            box += nodes.paragraph("", where, classes=["claim-place"])
        for name, text in parts(entry):
            box += self._part(name, text)
        note = self._note(related_claims(domain.registry, claim))  # first: it floats next to the box if there is room
        group = nodes.container("", *([note] if note else []), box, classes=["claim-and-note"])
        return [_index(entry, anchor(claim)), group]

    def _note(self, bound_up: dict[str, list[str]]) -> nodes.Node | None:
        """Badges of the claims that are bound up with this one; nothing where there are none."""
        path = Path(self.env.srcdir, FINDINGS)
        self.env.note_dependency(str(path))
        findings = Findings.read(path)
        registry = cast(ClaimDomain, self.env.get_domain("claim")).registry
        note = nodes.container(classes=["claim-note", "sidenote"])  # the theme clears the margin for a side note
        self.state.nested_parse(self.content, self.content_offset, note)
        for relation, claims in bound_up.items():
            if claims:
                labels = node_labels([registry.entry(claim) for claim in claims])
                badges = [
                    self._badge(claim, label, findings[claim]) for claim, label in zip(claims, labels, strict=True)
                ]
                note += _line(relation, badges[:_SHOWN])
                if more := badges[_SHOWN:]:
                    opening = f"<details><summary>and {len(more)} more</summary>"
                    note += [nodes.raw("", opening, format="html"), _line("", more)]
                    note += nodes.raw("", "</details>", format="html")
        return note if note.children else None

    def _badge(self, claim: str, label: str, found: Finding) -> nodes.Node:
        badge = nodes.inline("", label, classes=["verdict", verdict_class(found.verdict)])
        badge += nodes.inline("", f": {found.verdict.value}", classes=["visually-hidden"])
        return link_to_claim(claim, badge, self.env.docname) if found.notebook else badge

    def _part(self, name: str, text: str) -> nodes.Node:
        part = nodes.container(classes=["claim-printed" if name in PRINTED_PARTS else "claim-stated"])
        if name:
            part += nodes.paragraph("", name, classes=["claim-part"])
        self.state.nested_parse(StringList(text.split("\n"), source=self.env.docname), 0, part)
        return part


def _line(relation: str, badges: list[nodes.Node]) -> nodes.paragraph:
    line = nodes.paragraph()
    if relation:
        line += nodes.inline("", f"{relation} ", classes=["claim-part"])
    for badge in badges:
        line += [badge, nodes.Text(" ")]
    return line


def related_claims(registry: Registry, claim: str) -> dict[str, list[str]]:
    """What a claim rests on, what only its proof rests on, and what rests on it, in the paper's order."""
    paper, _, own = claim.partition("/")
    entries = next(one for one in registry.papers if one.name == paper).claims
    entry = registry.entry(claim)
    found = {
        "Rests on": [one.id for one in entries if one.id in entry.uses],
        "Its proof rests on": [one.id for one in entries if one.id in entry.proof_uses and one.id not in entry.uses],
        "What rests on it": [one.id for one in entries if own in (*one.uses, *one.proof_uses)],
    }
    return {relation: [f"{paper}/{name}" for name in names] for relation, names in found.items()}


def link_to_claim(claim: str, shown: nodes.Node, page: str) -> addnodes.pending_xref:
    """A link of ``page`` to the box of a claim."""
    return addnodes.pending_xref(
        "", shown, refdomain="claim", reftype="ref", reftarget=claim, refdoc=page, refexplicit=True
    )


def _index(entry: Entry, target: str) -> addnodes.index:
    """Under its number, as a main entry: the search puts these first."""
    numbers = [short_label(entry), *other_labels(entry)]
    return addnodes.index(entries=[("single", number, target, "main", None) for number in numbers])


class VerdictRole(SphinxRole):
    """A badge: ``{verdict}`holds` ``, or ``{verdict}`Lemma 4.4: holds <paper/id>` ``, which leads to the claim."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        words, _, claim = self.text.removesuffix(">").partition(" <")
        verdict = words.rpartition(": ")[2]
        try:
            colour = verdict_class(Verdict(verdict))
        except ValueError:
            known = ", ".join(one.value for one in Verdict)
            message = self.inliner.reporter.error(f"a verdict is one of {known}; got {verdict!r}", line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        badge = nodes.inline(self.rawtext, words, classes=["verdict", colour])
        if not claim:
            return [badge], []
        link = link_to_claim(claim, badge, self.env.docname)
        self.set_source_info(link)
        return [link], []


class ProofRole(SphinxRole):
    """A badge for the mark on a proof: ``{proof}`repaired` ``, ``{proof}`proved here` ``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            mark = ProofMark.AS_PRINTED if self.text == PROVED_HERE else ProofMark(self.text)
            colour = proof_class(mark)
        except ValueError:
            known = ", ".join([*(one.value for one in ProofMark), PROVED_HERE])
            message = self.inliner.reporter.error(
                f"a proof mark is one of {known}; got {self.text!r}", line=self.lineno
            )
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        return [nodes.inline(self.rawtext, self.text, classes=["proof-mark", colour])], []


class ClaimDomain(Domain):
    """Where each claim is stated."""

    name = "claim"
    label = "claims"
    object_types = {"claim": ObjType("claim", "ref")}  # noqa: RUF012 (Sphinx declares it so)
    roles = {"ref": XRefRole(innernodeclass=nodes.inline, warn_dangling=True)}  # noqa: RUF012
    initial_data: dict[str, Any] = {"places": {}}  # noqa: RUF012

    def __init__(self, env: BuildEnvironment) -> None:
        super().__init__(env)
        self.layout = Layout(Path(env.srcdir).parent)
        self._registry: Registry | None = None

    @property
    def registry(self) -> Registry:
        if self._registry is None:
            self._registry = Registry.load(self.layout)
        return self._registry

    @property
    def places(self) -> dict[str, Place]:
        return cast(dict[str, Place], self.data["places"])

    def note(self, claim: str, words: str) -> None:
        self.places[claim] = (self.env.docname, anchor(claim), words)

    def clear_doc(self, docname: str) -> None:
        for claim in [claim for claim, found in self.places.items() if found[0] == docname]:
            del self.places[claim]

    def merge_domaindata(self, docnames: Iterable[str], otherdata: dict[str, Any]) -> None:
        kept = set(docnames)
        self.places.update({claim: found for claim, found in otherdata["places"].items() if found[0] in kept})

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
        if target not in self.places:
            return None
        docname, identifier, words = self.places[target]
        shown = contnode if node["refexplicit"] else nodes.inline("", words)
        return make_refnode(builder, fromdocname, docname, identifier, shown, words)

    def resolve_any_xref(self, *_: Any) -> list[tuple[str, nodes.Element]]:
        return []

    def get_objects(self) -> Iterable[tuple[str, str, str, str, str, int]]:
        for claim, (docname, identifier, words) in self.places.items():
            yield claim, words, "claim", docname, identifier, 1


def setup(app: Sphinx) -> None:
    app.add_domain(ClaimDomain)
    app.add_directive("claim", ClaimDirective)
    app.add_role("verdict", VerdictRole())
    app.add_role("proof", ProofRole())
