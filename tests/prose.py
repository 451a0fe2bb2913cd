"""The phrases that the book avoids, and where its prose is.

``tests/test_prose.py`` finds them. Proofs may use them: mathematics gives some of them a sense.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jupytext
import yaml

ROOT = Path(__file__).resolve().parents[1]

#: Phrases that a native editor changes, and what to write.
AVOIDED = {
    r"\b(?:in print|the print|as printed)\b": "the paper states, the paper's version",
    r"\b(?:stands?|stood|set|shown) beside\b": "next to, compared with",
    r"\bheld against\b": "compared with, checked against",
    r"\b(?:hangs?|hung) on\b": "depends on",
    r"\b(?:comes?|came) out\b": "we reproduce, the result is",
    r"\b(?:is|are|can be|be|was) had\b": "can be obtained",
    r"\bbut for\b": "except for",
    r"\b(?:one|two|three|bit|row|page|error) a (?:token|term|paper|letter|head|claim|row|step)\b": "one per token",
    r"\b(?:of its own|of their own|by itself|by themselves)\b": "own, separate, or nothing",
    r"\b(?:tells?|told) apart\b": "distinguishes",
    r"\btells? of\b": "shows",
    r"\bstandard deviations? of the law\b|\bthe law of (?:the )?(?:sentences|labels|words|inputs)\b": "distribution",
    r"\bnames? (?:a|the|its|every|each) labels?\b|\blabels are named\b": "predicts, memorises",
    r"\b[Ww]hoever\b|\bone who\b": "we, you, a reader who",
    r"\b(?:is|are) asked (?:for|of)\b|\basks? (?:for|of)\b": "requires, must satisfy",
    r"(?:^|(?<=[.!?] ))What (?:\w+ ){1,4}(?:is|are)\b(?![^.]*\?)": "We judge, More heads help",
    r"\b\w+ sentences of ten\b|\bthousand million\b": "about 90 %, billion",
    r"\bon record\b|\b[Ff]illers as in the text\b": "plain words, or define it in the glossary",
    r"\b[Hh]ardly\b|\b[Nn]ext to nothing\b|\b[Aa] good deal\b": "a number",
    r", too[.;:]": "also, in mid-sentence",
    r"(?:^|(?<=[.!?] ))\([A-Z][^()]{30,}[.!?]\)": "promote the sentence, fold it or delete it",
}
_PATTERNS = {re.compile(pattern): better for pattern, better in AVOIDED.items()}

_PROOF = re.compile(r"<details>\s*<summary>[^<]*[Pp]roof.*?</details>", re.DOTALL)
_SCAFFOLD = re.compile(r"^(?:`{3,}|:{3,}).*$|^:[\w-]+:.*$|^\|.*$|<[^>]+>|^#+ .*$|^\([\w-]+\)=$", re.MULTILINE)
_FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
_CODE = re.compile(r"^```.*?^```$|`[^`]*`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True)
class Passage:
    """A piece of the book's text and where it is."""

    place: str
    text: str

    def avoided(self) -> Iterator[str]:
        """The phrases in it that the book avoids."""
        text = plain(self.text)
        for pattern, better in _PATTERNS.items():
            for hit in pattern.finditer(text):
                around = text[max(0, hit.start() - 30) : hit.end() + 30]
                yield f"{self.place}: {hit.group().strip()!r} in '...{around}...': {better}"


def plain(text: str) -> str:
    """Text without proofs, code, tables, headings and markup; a formula is the letter X."""
    for pattern, instead in ((_PROOF, ""), (_CODE, "C"), (_SCAFFOLD, ""), (_FORMULA, "X"), (_LINK, r"\1")):
        text = pattern.sub(instead, text)
    return " ".join(text.replace("*", "").split())


def of_notebook(path: Path) -> Iterator[Passage]:
    """The prose of a notebook and the captions of its figures and tables."""
    notebook, place = jupytext.read(path), path.relative_to(ROOT).as_posix()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield Passage(place, cell.source)
        else:
            yield from (Passage(f"{place}, caption", text) for text in _captions(ast.parse(cell.source)))


def of_claims(path: Path) -> Iterator[Passage]:
    """What the registry says in the book's words; ``says`` has the paper's."""
    place = path.relative_to(ROOT).as_posix()
    for claim in yaml.safe_load(path.read_text(encoding="utf-8"))["claims"]:
        for field in ("holds", "differs", "beyond", "check", "statement", "corrected"):
            if claim.get(field):
                yield Passage(f"{place}, {claim['id']}, {field}", claim[field])


def of_package(folder: Path) -> Iterator[Passage]:
    """The docstrings of a folder of modules."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield Passage(f"{path.relative_to(ROOT)}, {getattr(node, 'name', 'module')}", text)


def of_page(path: Path) -> Iterator[Passage]:
    yield Passage(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def _captions(tree: ast.Module) -> Iterator[str]:
    for call in ast.walk(tree):
        for keyword in call.keywords if isinstance(call, ast.Call) else []:
            if keyword.arg in ("caption", "alt"):
                parts = [part.value for part in ast.walk(keyword.value) if isinstance(part, ast.Constant)]
                yield " ".join(part for part in parts if isinstance(part, str))
