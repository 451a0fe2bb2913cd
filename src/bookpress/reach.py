"""What a notebook depends on: its code, parameters and claims' kinds, the modules it imports, results it reads."""

import ast
import sys
from functools import cached_property
from pathlib import Path

import grimp

from bookpress.files import digest
from bookpress.layout import Layout
from bookpress.notebook import code_of, read_source
from bookpress.profile import load_profile
from bookpress.registry import Registry

#: Modules that only find words for what came out. Pages are worded when they are bound, so no run depends on these.
_WORDING = {"bookpress.panel"}


class Reach:
    """Dependencies of every notebook of one book under one profile.

    The import graph of ``src`` is built once. A package's ``__init__`` counts for what imports from the package.
    """

    def __init__(self, layout: Layout, profile: str) -> None:
        self.layout = layout
        self.settings = load_profile(profile, layout)

    @cached_property
    def _packages(self) -> list[str]:
        return sorted(path.parent.name for path in self.layout.packages.glob("*/__init__.py"))

    @cached_property
    def _graph(self) -> grimp.ImportGraph | None:
        folder = str(self.layout.packages)
        if folder not in sys.path:  # another book than the one this package was installed from
            sys.path.insert(0, folder)
        return grimp.build_graph(*self._packages, cache_dir=None) if self._packages else None

    @cached_property
    def _registry(self) -> Registry:
        return Registry.load(self.layout)

    def modules(self, notebook: str) -> list[str]:
        """The modules of ``src`` that a notebook's values depend on: its imports and theirs, by dotted names."""
        code = code_of(read_source(self.layout.source(notebook)))
        direct = {module for name in _imported(code) if (module := self._nearest(name))}
        reached = set(direct)
        if self._graph:
            reached |= {upstream for module in direct for upstream in self._graph.find_upstream_modules(module)}
        return sorted((reached | {parent for module in reached for parent in _parents(module)}) - _WORDING)

    def fingerprint(self, notebook: str) -> str:
        """A hash of everything that a run's values depend on. Prose does not enter it."""
        settings = self.settings.get(notebook)
        code = code_of(read_source(self.layout.source(notebook)))
        claims = self._registry.of_notebook(notebook)
        return digest(
            code,
            settings.parameters if settings else {},
            {name: (entry.kind, entry.label, entry.expected) for name, entry in claims.items()},
            {module: self._file(module).read_text(encoding="utf-8") for module in self.modules(notebook)},
            *([self._results(notebook)] if "Layout.here().results" in code else []),
        )

    def _results(self, notebook: str) -> dict[str, str]:
        """The recorded results of the notebook's paper."""
        folder = self.layout.results / notebook.partition("/")[0]
        return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.json"))}

    def _nearest(self, name: str) -> str | None:
        """The module of ``src`` that an imported name lives in: the name itself or the longest prefix of it."""
        while name and self._graph:
            if name in self._graph.modules:
                return name
            name = name.rpartition(".")[0]
        return None

    def _file(self, module: str) -> Path:
        path = self.layout.packages.joinpath(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imported(code: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), names=aliases):
                names |= {f"{module}.{alias.name}" for alias in aliases}
    return names


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]
