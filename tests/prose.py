"""How the book reads, in numbers, and the phrases that it avoids: `make prose`.

A rhythm is no rule: the counts are for a writer to look at, next to those of three books that are read with pleasure.
The phrases are rules, held by ``tests/test_prose.py``. Proofs may use them: mathematics gives some of them a sense.
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

#: Of a thousand sentences those with *we*, with an example and with a passive, counted in books that read well.
ANCHORS = {"QuantEcon": (356, 102, 133), "Annotated Transformer": (423, 18, 117), "Distill": (240, 39, 81)}

_PROOF = re.compile(r"<details>\s*<summary>[^<]*[Pp]roof.*?</details>", re.DOTALL)
_SCAFFOLD = re.compile(r"^(?:`{3,}|:{3,}).*$|^:[\w-]+:.*$|^\|.*$|<[^>]+>|^#+ .*$|^\([\w-]+\)=$", re.MULTILINE)
_FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
_CODE = re.compile(r"^```.*?^```$|`[^`]*`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z$*])")


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

    def sentences(self) -> list[str]:
        return [sentence for sentence in _SENTENCE.split(plain(self.text)) if len(sentence.split()) > 2]


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
    """The docstrings and the messages of errors of a folder of modules, and the templates of its pages."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield Passage(f"{path.relative_to(ROOT)}, {getattr(node, 'name', 'module')}", text)
            elif isinstance(node, ast.Raise) and node.exc is not None:
                yield Passage(f"{path.relative_to(ROOT)}, line {node.lineno}", _words(node.exc))
    for path in sorted(folder.rglob("*.jinja")):
        text = re.sub(r"\{[%#].*?[%#]\}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        yield Passage(path.relative_to(ROOT).as_posix(), re.sub(r"\{\{.*?\}\}", "X", text, flags=re.DOTALL))


def of_page(path: Path) -> Iterator[Passage]:
    yield Passage(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def _captions(tree: ast.Module) -> Iterator[str]:
    for call in ast.walk(tree):
        for keyword in call.keywords if isinstance(call, ast.Call) else []:
            if keyword.arg in ("caption", "alt"):
                yield _words(keyword.value)


def _words(node: ast.AST) -> str:
    parts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return " ".join(part for part in parts if isinstance(part, str))


def measure(path: Path) -> dict[str, float]:
    """The rhythm of a page: words, and per thousand sentences or words what the anchors are measured by."""
    source = jupytext.read(path)
    prose = [cell.source for cell in source.cells if cell.cell_type == "markdown"]
    sentences = [sentence for cell in prose for sentence in Passage("", cell).sentences()]
    words = sum(len(plain(cell).split()) for cell in prose)
    share = 1000 / max(1, len(sentences))
    figures = sum(cell.source.count("show.figure(") for cell in source.cells if cell.cell_type == "code")
    before = 0
    for cell in source.cells:
        if cell.cell_type == "code" and re.search(r"show\.(?:figure|table)\(", cell.source):
            break
        before += len(plain(cell.source).split()) if cell.cell_type == "markdown" else 0
    code = [line for cell in source.cells if cell.cell_type == "code" for line in cell.source.splitlines()]
    judging = sum(bool(re.match(r"\s*(?:claim\.|with Claim|require\()", line)) for line in code)
    return {
        "words": words,
        "we, you": share * sum(bool(re.search(r"\b(?:[Ww]e|[Yy]ou|[Oo]ur|[Yy]our)\b", one)) for one in sentences),
        "examples": share
        * sum(bool(re.search(r"\b(?:[Ff]or example|[Ee]\.g\.|such as|say,)", one)) for one in sentences),
        "passive": share * sum(bool(_PASSIVE.search(one)) for one in sentences),
        "figures": 1000 * figures / max(1, words),
        "first": before,
        "judging": 100 * judging / max(1, len(code)),
        "avoided": sum(1 for passage in of_notebook(path) for _ in passage.avoided()),
    }


_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being) (?:\w+ly )?\w+(?:ed|en|wn|lt|ne|de|ld|ght|pt)\b")


def main() -> None:
    """Print the rhythm of every notebook's prose."""
    heads = ["words", "we, you", "examples", "passive", "figures", "first", "judging", "avoided"]
    print(f"{'page':58}" + "".join(f"{head:>10}" for head in heads))
    for path in sorted((ROOT / "notebooks").glob("*/*.py")):
        numbers = measure(path)
        print(f"{path.parent.name + '/' + path.stem:58}" + "".join(f"{numbers[head]:10.0f}" for head in heads))
    for name, (ours, examples, passive) in ANCHORS.items():
        print(f"{name:58}{'':10}{ours:10}{examples:10}{passive:10}")
    print(
        "we, you; examples; passive: per thousand sentences. figures: per thousand words. first: words before a figure"
    )
    print("or table. judging: per cent of the lines of code. avoided: phrases that tests/prose.py lists.")


if __name__ == "__main__":
    main()
