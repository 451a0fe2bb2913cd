"""The package as a reader looks it up: every public name by room, what it is, where in the paper, and who uses it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bookpress.claims.registry import Paper
from bookpress.layout import Layout
from bookpress.notebooks.source import code_of, read_source, title_of

PACKAGE = "attention_theory"

_KINDS = "Algorithm|Appendix|Assumption|Claim|Corollary|Definition|Eq|Equation|Example|Figure|Lemma|Proposition|Remark|"
_KINDS += "Section|Table|Task|Theorem"
_NUMBER = r"(?:[A-Z](?:\.\d+)+|[A-Z]\b|\d+(?:\.\d+)*[a-z]?|\(\d+\))"
#: A place in a paper, as docstrings name it: "Lemma 4.1", "Eqs. 5 and 6", "Appendix B.2".
_PLACE = re.compile(rf"\b(?:{_KINDS})(?:s|ces)?\.? {_NUMBER}(?:(?:, | and | to |-){_NUMBER})*")
_MARKUP = re.compile(r"([\\*_<>\[\]$|{}#])")


@dataclass(frozen=True)
class Name:
    """A public function or class: where it lives, the first paragraph of its docstring, its places in the paper."""

    module: str
    name: str
    summary: str
    places: tuple[str, ...]


@dataclass(frozen=True)
class Module:
    """A file of the package: its dotted name, its docstring's first paragraph, its public names in their order."""

    name: str
    summary: str
    names: tuple[Name, ...]


def package_pages(layout: Layout, papers: list[Paper]) -> dict[str, str]:
    """Generated pages by file name: ``package`` with what is shared, and one for the room of each paper."""
    folders = {paper.name.replace("-", "_"): paper for paper in papers}
    rooms: dict[str, list[Module]] = defaultdict(list)
    for module in public_modules(layout.packages / PACKAGE):
        room = module.name.partition(".")[2].partition(".")[0]
        rooms[room if room in folders else ""].append(module)
    users = _linked_users(layout)
    pages = {"package": _page(_opening(), rooms[""], users, depth=0)}
    for room, paper in folders.items():
        title = f"# Room: {paper.short_title[0].lower()}{paper.short_title[1:]}"
        cited = f" {{cite}}`{paper.cite}`" if paper.is_article else ""
        about = f"`{PACKAGE}.{room}` has what is run of *{paper.title}*{cited}; its chapter is "
        opening = [title, "", f"{about}[here](/papers/{paper.name}.md)."]
        if rooms[room]:
            pages[f"package-{paper.name}"] = _page(opening, rooms[room], users, depth=1)
    return pages


def _opening() -> list[str]:
    return [
        "# The package",
        "",
        f"Every page imports what it runs from `{PACKAGE}`. Here is all that can be imported, room by room: first what "
        "the papers share, and on pages of its own what each paper adds. A name is imported from its module: "
        f"`from {PACKAGE}.rows import Rows`. The last column has the pages that import it themselves.",
    ]


def public_modules(folder: Path) -> Iterator[Module]:
    """The modules of a package that have public names, packages before what they hold."""
    for path in sorted(folder.rglob("*.py"), key=lambda one: one.with_suffix("").parts):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        dotted = ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")
        names = tuple(_names(dotted, tree))
        if names or path.name == "__init__.py":
            yield Module(dotted, _first_paragraph(ast.get_docstring(tree)), names)


def _names(module: str, tree: ast.Module) -> Iterator[Name]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            said = ast.get_docstring(node) or ""
            places = dict.fromkeys(found.group() for found in _PLACE.finditer(said))
            yield Name(module, node.name, _first_paragraph(said), tuple(places))


def uses(layout: Layout) -> dict[str, list[str]]:
    """For each dotted name of the package the notebooks that import it, in order."""
    users: dict[str, list[str]] = defaultdict(list)
    for notebook in layout.notebooks():
        code = code_of(read_source(layout.source(notebook)))
        for name in sorted(_imported(ast.parse(code))):
            users[name].append(notebook)
    return users


def _imported(tree: ast.Module) -> set[str]:
    """Names imported from the package, and attributes of its modules that are imported whole."""
    found, modules = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == PACKAGE:
            for one in node.names:
                found.add(f"{node.module}.{one.name}")
                modules[one.asname or one.name] = f"{node.module}.{one.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            found.add(f"{modules[node.value.id]}.{node.attr}")
    return found


def _linked_users(layout: Layout) -> dict[str, list[str]]:
    """As :func:`uses`, with a link to each notebook whose page is bound."""
    links = {
        notebook: f"[{_short(title_of(read_source(layout.source(notebook))))}](/notebooks/{notebook}.ipynb)"
        for notebook in layout.notebooks()
        if layout.page(notebook).is_file()
    }
    return {name: [links[one] for one in notebooks if one in links] for name, notebooks in uses(layout).items()}


def _short(title: str) -> str:
    """The paper's number where a title begins with it: "Lemma 4.4 · The certificate with error"."""
    return title.partition(" · ")[0]


def _page(opening: list[str], modules: list[Module], users: dict[str, list[str]], depth: int) -> str:
    """One page; ``depth`` is how many folders below the package its modules begin."""
    lines = list(opening)
    for module in modules:
        level = module.name.count(".") - depth
        if level > 0:
            lines += ["", f"{'#' * (level + 1)} {module.name.partition('.')[2]}", "", escaped(module.summary)]
        if module.names:
            lines += ["", ":::{table}", ":class: package", "", "| name | what it is | in the paper | pages |"]
            lines += ["| --- | --- | --- | --- |"]
            lines += [_row(one, users.get(f"{one.module}.{one.name}", [])) for one in module.names]
            lines += [":::"]
    return "\n".join(lines) + "\n"


def _row(name: Name, links: list[str]) -> str:
    cells = (f"`{name.name}`", escaped(name.summary), escaped(", ".join(name.places)), ", ".join(links))
    return "| " + " | ".join(cells) + " |"


def _first_paragraph(docstring: str | None) -> str:
    return " ".join((docstring or "").strip().partition("\n\n")[0].split())


def escaped(text: str) -> str:
    """A docstring's text as Markdown: code stays code, and nothing else is markup."""
    text = re.sub(r":\w+:`[~.]?([^`]*)`", r"``\1``", text)
    parts = re.split(r"(``.*?``)", text)
    return "".join(
        part.replace("|", "\\|") if part.startswith("``") else _MARKUP.sub(r"\\\1", part.replace("`", "'"))
        for part in parts
    )
