"""What was found, for sentences: verdicts and counts that a page takes from the records in place of typing them.

Binding writes them to one file; ``{count}``, ``{tally}`` and ``{verdict-of}`` read it when the page is built.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from bookpress.claims.panel import verdict_class
from bookpress.claims.registry import Verdict

#: Below the book's folder.
FINDINGS = Path("generated", "findings.json")


class Finding(NamedTuple):
    """What one claim came to: its verdict, and the page that settles it, if a run of it is in the book.

    ``of_article`` is false for a claim of the book's own, which the counts over all papers leave out.
    """

    label: str
    verdict: Verdict
    notebook: str | None
    of_article: bool = True


class Findings(dict[str, Finding]):
    """Every claim of the book, by ``paper/id``."""

    def dumps(self) -> str:
        return json.dumps(self, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> "Findings":
        content = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            {claim: Finding(label, Verdict(verdict), *rest) for claim, (label, verdict, *rest) in content.items()}
        )

    def count(self, what: str) -> int:
        """How many claims: of one verdict, or ``claims``, ``notebooks``, ``papers``; of one paper: ``paper/what``.

        Without a paper, those of the articles: a chapter of the book's own is counted by its name only.

        Raises:
            ValueError: no such paper or verdict.
        """
        paper, _, kind = what.rpartition("/")
        chosen = {
            claim: found
            for claim, found in self.items()
            if (claim.startswith(f"{paper}/") if paper else found.of_article)
        }
        if not chosen:
            raise ValueError(f"no paper '{paper}'")
        if kind == "claims":
            return len(chosen)
        if kind == "notebooks":
            return len({found.notebook for found in chosen.values() if found.notebook})
        if kind == "papers":
            return len({claim.partition("/")[0] for claim in chosen})
        if kind not in {one.value for one in Verdict}:
            known = ", ".join(one.value for one in Verdict)
            raise ValueError(f"no count '{kind}': there are claims, notebooks, papers, {known}")
        return Counter(found.verdict for found in chosen.values())[Verdict(kind)]


def counted(verdict: Verdict, number: int) -> str:
    """A verdict behind a number of claims: 1 holds, 2 hold."""
    return verdict.value if number == 1 else verdict.value.replace("holds", "hold")


class _FindingRole(SphinxRole):
    """A role whose words come from the findings; the page is built again when these change."""

    def findings(self) -> Findings:
        path = Path(self.env.srcdir, FINDINGS)
        self.env.note_dependency(str(path))
        return Findings.read(path)

    def refuse(self, why: object) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        message = self.inliner.reporter.error(f"{self.name}: {why}", line=self.lineno)
        return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]


class CountRole(_FindingRole):
    """``{count}`refuted` ``, ``{count}`linear-attention/claims` ``: see :meth:`Findings.count`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            return [nodes.Text(str(self.findings().count(self.text)))], []
        except ValueError as error:
            return self.refuse(error)


class TallyRole(_FindingRole):
    """``{tally}`all` ``, ``{tally}`memorization` ``: how many claims came to each verdict that any came to."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        findings, paper = self.findings(), "" if self.text == "all" else f"{self.text}/"
        try:
            counts = {verdict: findings.count(f"{paper}{verdict}") for verdict in Verdict}
        except ValueError as error:
            return self.refuse(error)
        shown: list[nodes.Node] = []
        for verdict, number in counts.items():
            if number:
                badge = nodes.inline("", counted(verdict, number), classes=["verdict", verdict_class(verdict)])
                together = nodes.inline("", f"{number} ", badge, classes=["tally"])
                shown += [nodes.Text(", "), together] if shown else [together]
        return shown, []


class VerdictOfRole(_FindingRole):
    """``{verdict-of}`linear-attention/lemma-4-4` ``: a badge that leads to the claim."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        found = self.findings().get(self.text)
        if found is None:
            return self.refuse(f"no claim '{self.text}'")
        words = f"{found.label}: {found.verdict.value}"
        shown = nodes.inline(self.rawtext, words, classes=["verdict", verdict_class(found.verdict)])
        if found.notebook is None:
            return [shown], []
        page = self.env.app.builder.get_relative_uri(self.env.docname, f"notebooks/{found.notebook}")
        anchor = "claim-" + self.text.replace("/", "-")
        return [nodes.reference("", "", shown, refuri=f"{page}#{anchor}", internal=True)], []


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("count", CountRole())
    app.add_role("tally", TallyRole())
    app.add_role("verdict-of", VerdictOfRole())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
