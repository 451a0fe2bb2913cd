"""What a notebook depends on: its code, parameters and claims' kinds, the modules and files that these reach."""

import ast
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

import grimp
from grimp.exceptions import SourceSyntaxError

from bookpress.claims.registry import Registry
from bookpress.files import digest, digest_of_file
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.profile import load_profile
from bookpress.notebooks.source import Notebook, SourceError, remembered, text_of

#: Modules that no value of a run depends on: they word results, statements and failures, or keep files.
_NOT_COUNTED = {f"bookpress.{name}" for name in ("claims.panel", "claims.record", "claims.statement", "exits", "files")}

#: Modules of the press that compute with the values of a run.
_JUDGING = {"bookpress.claims.intervals"}

#: Libraries whose arithmetic is in every value. Their releases count, and not what they were built for.
_LIBRARIES = ("torch", "numpy")

#: Folders of ``results`` that hold what runs found, for the pages and the tests; no run reads them.
_KEPT_BY_THE_PRESS = {"records", "laptop", "points"}


class Dependencies:
    """Dependencies of every notebook of one book under one profile.

    A package's ``__init__`` counts for what imports from the package, its data files for what imports from it or names
    it in a string, as ``importlib.resources`` asks.

    Raises:
        ProfileError: there is no such profile, or it is at fault.
        SourceError: a module of ``src`` is not UTF-8 or not Python.
    """

    def __init__(self, layout: Layout, profile: str) -> None:
        self.layout = layout
        self.profile = profile
        self.settings = load_profile(profile, layout)
        self._packages = sorted(path.parent.name for path in layout.packages.glob("*/__init__.py"))
        self._graph = self._imports()
        self._digest, self._text = cache(digest_of_file), cache(text_of)
        self._fingerprint = cache(self._hash)

    def _imports(self) -> grimp.ImportGraph:
        if (folder := str(self.layout.packages)) not in sys.path:  # not the book that this package is installed from
            sys.path.insert(0, folder)
        try:
            return grimp.build_graph(*self._packages, cache_dir=None) if self._packages else grimp.ImportGraph()
        except SourceSyntaxError as error:
            raise SourceError(f"{self._relative(Path(error.filename))}, line {error.lineno}: not Python") from error
        except UnicodeError:
            for path in sorted(self.layout.packages.rglob("*.py")):
                text_of(path)  # names the file
            raise

    def modules(self, notebook: Notebook) -> list[str]:
        """The modules of ``src`` that a notebook's values depend on: its imports and theirs, by dotted names."""
        direct = {module for name in names_in(notebook.code)[0] if (module := self._nearest(name))}
        reached = direct | {upstream for module in direct for upstream in self._graph.find_upstream_modules(module)}
        parts = [module.split(".") for module in reached]
        packages = {".".join(names[:end]) for names in parts for end in range(1, len(names))}
        return sorted((reached | packages) - _NOT_COUNTED)

    def data_files(self, notebook: Notebook) -> list[Path]:
        """The files beside the modules that may be read: of the packages imported from or named, and the results.

        Any result may be, where the notebook speaks of ``results`` or a module does that it reaches outside the press.
        """
        modules = self.modules(notebook)
        codes = [notebook.code, *(self._text(self._file(name)) for name in modules if not _is_ours(name))]
        words = {word for code in codes for word in names_in(code)[1]}
        named = {word for word in words if word.partition(".")[0] in self._packages}
        folders = {self.layout.packages.joinpath(*name.split(".")) for name in {*modules, *named}}
        if any("results" in word.split("/") for word in words):
            folders |= {path for path in self.layout.results.glob("*") if path.name not in _KEPT_BY_THE_PRESS}
        return sorted(path for folder in folders if folder.is_dir() for path in _data_in(folder))

    def fingerprint(self, notebook: Notebook) -> str:
        """A hash of everything that a run's values depend on. Prose does not enter it.

        Of the press all counts in a laptop run, what computes intervals in a full-size run, and nothing in a notebook
        that is no page: what takes hours is not made again for an edit of the press.

        Raises:
            SourceError: the source, or a module of the package, cannot be read.
        """
        return self._fingerprint(notebook, notebook.code)

    def _hash(self, notebook: Notebook, code: str) -> str:
        settings = self.settings.get(notebook.name)
        claims = Registry.load(self.layout).of_notebook(notebook.name)
        return digest(
            code,
            settings.parameters if settings else {},
            {name: (entry.kind, entry.label, entry.expected) for name, entry in claims.items()},
            {name: self._digest(self._file(name)) for name in self.modules(notebook) if self._counts(name, notebook)},
            {self._relative(path): self._digest(path) for path in self.data_files(notebook)},
            {name: metadata.version(name).partition("+")[0] for name in _LIBRARIES},
        )

    def _counts(self, module: str, notebook: Notebook) -> bool:
        """Whether an edit of a module that the notebook reaches makes it run again."""
        if not _is_ours(module):
            return True
        return self.layout.is_page(notebook.name) and (self.profile == LAPTOP or module in _JUDGING)

    def _nearest(self, name: str) -> str | None:
        """The module of ``src`` that an imported name lives in: the name itself or the longest prefix of it."""
        while name and name not in self._graph.modules:
            name = name.rpartition(".")[0]
        return name or None

    def _file(self, module: str) -> Path:
        path = self.layout.packages.joinpath(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.layout.root).as_posix()


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "bookpress"


def _data_in(folder: Path) -> Iterator[Path]:
    """The files of a folder and of those below it, except for code and for separate packages."""
    for path in folder.iterdir():
        if path.is_dir() and path.name != "__pycache__" and not (path / "__init__.py").exists():
            yield from _data_in(path)
        elif path.is_file() and path.suffix != ".py" and not path.name.startswith("."):
            yield path


@lru_cache(maxsize=1024)
def names_in(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """What a piece of code imports, and what else it names that could be a file's place: strings and attributes."""
    imported, words = remembered(_names, code)
    return frozenset(imported), frozenset(words)


def _names(code: str) -> tuple[list[str], list[str]]:
    imported, words = set(), set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names=aliases):
                imported |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), names=aliases):
                imported |= {f"{module}.{alias.name}" for alias in aliases}
            case ast.Constant(value=str(word)) | ast.Attribute(attr=word):
                words.add(word)
    return sorted(imported), sorted(words)
