"""How many small wrong changes of the package its tests and pages notice: what ``make mutants`` does.

A copy of the book is changed, never the book. The tests that reach the changed module are tried in order of their
nearness: the one that mirrors it, the others that import it, those that reach it through other modules; then the pages
that import it, which are stopped by their evidence, or by a value that is not the one kept. The first that fails has
killed the mutant. In the end everything that has killed one is run once more on the unchanged copy, where it has to
pass.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Literal, Self

import grimp
from pydantic import BaseModel, TypeAdapter
from rich.console import Console
from rich.table import Table

from bookpress import mutant_tests
from bookpress.files import load_yaml, scratch_folder, write_whole
from bookpress.layout import Layout
from bookpress.mutants import Mutant, choose, mutants_of
from bookpress.notebooks import kernels
from bookpress.notebooks.dependencies import names_in

#: What a book's run imports from elsewhere, and its tests beside it.
LIBRARIES = (*kernels.LIBRARIES, "beartype", "hypothesis.strategies", "pytest")

#: The share of mutants that have to be killed, of those that differ from the code at all.
GOAL = 0.92

#: Seconds of a processor for the test that mirrors a module, for all other tests, for a page; and how many pages.
_MIRROR, _OTHERS, _PAGE, _PAGES = 30, 60, 20, 3

#: For collecting all tests, and for what has killed mutants on the unchanged copy.
_WHOLE = 600

#: A package that is started as a program.
_STARTED = re.compile(r'"-m", "(\w+)"')

#: Made by running, so that no copy needs it.
_MADE = shutil.ignore_patterns(".*", "build", "_build", "__pycache__", "*.egg-info", "*.aside")

#: What pytest returns where all tests passed, and where there were none.
_PASSED = (0, 5)

#: What is returned where the seconds were used up.
_TOO_LONG = -signal.SIGXCPU

Outcome = Literal["killed", "survived", "equivalent"]


class MutationError(Exception):
    """The check says nothing; the message says why."""


class Equivalent(BaseModel, extra="forbid", frozen=True):
    """A mutant that no test could tell from the code, with the reason."""

    file: str
    was: str
    now: str
    why: str


class Trial(BaseModel):
    """What became of one mutant: by which test or page it was killed, or why it is none."""

    part: str
    file: str
    line: int
    kind: str
    was: str
    now: str
    outcome: Outcome = "survived"
    by: str = ""
    seconds: float = 0.0


class Report(BaseModel):
    """What one run found."""

    seed: int
    trials: list[Trial]

    def count(self, outcome: Outcome, part: str | None = None) -> int:
        return sum(one.outcome == outcome and part in (None, one.part) for one in self.trials)

    @property
    def score(self) -> float:
        """The share that was killed, of those that differ from the code."""
        differ = len(self.trials) - self.count("equivalent")
        return self.count("killed") / differ if differ else 1.0


def run_mutants(layout: Layout, seed: int, count: int, only: str, cores: str, console: Console) -> None:
    """Make ``count`` mutants chosen by ``seed``, or those whose ``file:line`` contains ``only``, and try to kill each.

    As many copies of the book are at work as there are ``cores``.

    Raises:
        MutationError: fewer than the goal are killed, or something fails without any mutant.
    """
    chosen = chosen_mutants(layout, seed, count, only)
    report = Report(seed=seed, trials=[])
    with (
        scratch_folder() as folder,
        Benches(
            layout, Path(folder), min(((os.cpu_count() or 1) if cores == "all" else int(cores)), len(chosen))
        ) as benches,
    ):
        for trial in benches.trials(chosen):
            report.trials.append(trial)
            console.print(f"{len(report.trials)}/{len(chosen)} {told(trial)}", markup=False, soft_wrap=True)
            write_whole(layout.build / "mutants" / f"seed_{seed}.json", report.model_dump_json(indent=1) + "\n")
        idle = benches.idle_killers()
    show(report, console)
    if idle:
        raise MutationError(f"these fail without any mutant, so that the run says nothing: {', '.join(idle)}")
    if report.score < GOAL:
        raise MutationError(f"{report.score:.1%} of the mutants are killed, fewer than {GOAL:.0%}")


def chosen_mutants(layout: Layout, seed: int, count: int, only: str) -> list[tuple[str, Mutant]]:
    """The mutants to be tried, each with the part of the package that it belongs to.

    Raises:
        MutationError: there is none.
    """
    pools = {
        part: [one for file in files for one in mutants_of(layout.packages, file)] for part, files in parts(layout)
    }
    pools = {part: pool for part, pool in pools.items() if pool}
    if only:
        found = [(part, one) for part, pool in pools.items() for one in pool if only in f"{one.file}:{one.line}:"]
    else:
        chosen = [[(part, one) for one in pool] for part, pool in choose(pools, seed, count).items()] if pools else []
        found = [one for turn in zip_longest(*chosen) for one in turn if one]  # what has been tried so far is balanced
    if not found:
        raise MutationError("there is nothing to change" + (f" at {only}" if only else ""))
    return found


def parts(layout: Layout) -> Iterator[tuple[str, list[str]]]:
    """The files of each paper's package, of the rest of the package around them, and of every other package."""
    papers = {path.stem.replace("-", "_") for path in layout.claims.glob("*.yaml")}
    by_part: dict[str, list[str]] = {}
    for path in sorted(layout.packages.rglob("*.py")):
        package, *inner = path.relative_to(layout.packages).parts
        part = f"{package}/{inner[0]}" if inner[0] in papers else package
        by_part.setdefault(part, []).append(path.relative_to(layout.packages).as_posix())
    yield from by_part.items()


def load_equivalent(layout: Layout) -> list[Equivalent]:
    """The mutants known to be no fault: ``tests/mutants_equivalent.yaml``."""
    path = layout.root / "tests" / "mutants_equivalent.yaml"
    return TypeAdapter(list[Equivalent]).validate_python((load_yaml(path) if path.is_file() else None) or [])


def stale(layout: Layout) -> list[str]:
    """Of the mutants known to be no fault those that can no longer be made: their line has been edited."""
    known = load_equivalent(layout)
    made = {
        (one.file, one.was, one.now)
        for file in {one.file for one in known}
        if (layout.packages / file).is_file()
        for one in mutants_of(layout.packages, file)
    }
    return [f"{one.file}: {one.now}" for one in known if (one.file, one.was, one.now) not in made]


def told(trial: Trial) -> str:
    """A trial in one line, for a survivor with the change."""
    change = f": {trial.was}  ->  {trial.now}" if trial.outcome == "survived" else f" by {trial.by}"
    return f"{trial.outcome} {trial.file}:{trial.line}, {trial.kind}{change} ({trial.seconds:.0f} s)"


def show(report: Report, console: Console) -> None:
    """A table of the parts, and the survivors by name."""
    table = Table("part", "killed", "survived", "equivalent")
    for part in dict.fromkeys(one.part for one in report.trials):
        table.add_row(part, *(str(report.count(outcome, part)) for outcome in ("killed", "survived", "equivalent")))
    console.print(table)
    for trial in report.trials:
        if trial.outcome == "survived":
            console.print(told(trial), markup=False, soft_wrap=True)
    console.print(f"{report.score:.1%} of those that differ from the code are killed; seed {report.seed}")


@dataclass(frozen=True)
class Attempt:
    """Files of tests, or one page, that may notice a mutant; with the seconds that they may take."""

    files: list[str]
    seconds: int

    @property
    def is_page(self) -> bool:
        return self.files[0].startswith("notebooks/")


class Bench:
    """A copy of the book, in ``folder``, with a server that runs its tests and pages."""

    def __init__(self, layout: Layout, folder: Path) -> None:
        shutil.copytree(layout.root, folder, ignore=_MADE)
        self.layout = Layout(folder)
        self.reach = Nearness(self.layout)
        self._output = folder.parent / "output.txt"
        self._killers: list[str] = []
        self._slow: list[str] = []

    def __enter__(self) -> Self:
        here = {
            "PYTHONPATH": str(self.layout.packages),
            "BOOKPRESS_ROOT": str(self.layout.root),
            "OMP_NUM_THREADS": "1",
        }
        self._server = subprocess.Popen(
            [sys.executable, mutant_tests.__file__, *LIBRARIES],
            cwd=self.layout.root,
            env={**os.environ, **here},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._run(Attempt(self.reach.all_tests(), _WHOLE), "--collect-only", kept=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.kill()
        self._server.communicate()

    def killer(self, mutant: Mutant) -> str:
        """The first test or page that fails with the mutant; nothing if none does.

        A time that ran out counts for the tests of the module itself. Of the others, and of pages, it is not known what
        they would have said.
        """
        mirror = self.layout.test_of(mutant.module)
        for attempt in self._attempts(mutant.module):
            with self._changed(mutant):
                code = self._run(attempt)
            if code == _TOO_LONG:
                if mirror and attempt.files == [mirror]:
                    self._slow.append(mirror)
                    return f"{mirror} (time)"
            elif code is not None and code not in _PASSED:
                name = attempt.files[0] if attempt.is_page else next(self._failed(), attempt.files[0])
                self._killers.append(name)
                return name
        return ""

    def idle_killers(self) -> list[str]:
        """Of what has killed mutants that which fails on the unchanged copy as well, or takes half its time there."""
        tests = sorted({name for name in self._killers if name.startswith("tests/")})
        pages = sorted({name for name in self._killers if not name.startswith("tests/")})
        passed = not tests or self._run(Attempt(tests, _WHOLE), "--quiet") == 0
        idle = [] if passed else list(self._failed()) or tests
        idle += [page for page in pages if self._run(Attempt([page], 2 * _PAGE)) != 0]
        return idle + [file for file in sorted({*self._slow}) if self._run(Attempt([file], _MIRROR // 2)) != 0]

    def _attempts(self, module: str) -> Iterator[Attempt]:
        """What may notice a change of a module, nearest first."""
        mirror, others = self.reach.tests(module)
        yield from (Attempt(files, seconds) for files, seconds in ((mirror, _MIRROR), (others, _OTHERS)) if files)
        yield from (Attempt([page], _PAGE) for page in self.reach.pages(module)[:_PAGES])

    @contextmanager
    def _changed(self, mutant: Mutant) -> Iterator[None]:
        """The file with the mutant in it, of another age: by its age is told whether what is compiled is old."""
        path = self.layout.packages / mutant.file
        before, age = path.read_bytes(), path.stat().st_mtime
        path.write_bytes(mutant.applied(before))
        os.utime(path, (age + 1000, age + 1000))
        try:
            yield
        finally:
            path.write_bytes(before)
            os.utime(path, (age, age))

    def _run(self, attempt: Attempt, option: str = "-x", kept: bool = False) -> int | None:
        """The exit code, or nothing where the time ran out. Where nothing is changed, what is compiled can be kept."""
        arguments = [option, "--no-header", "-rfE", "-pno:cacheprovider", "-pno:xdist", "--hypothesis-seed=0"]
        arguments.append(f"--hypothesis-profile={mutant_tests.PROFILE}")
        what = {"notebook": attempt.files[0]} if attempt.is_page else {"arguments": [*arguments, *attempt.files]}
        request = {**what, "seconds": attempt.seconds, "output": str(self._output), "kept": kept}
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        if not answer:
            raise MutationError("the server that runs the tests has ended")
        code: int | None = json.loads(answer)
        return code

    def _failed(self) -> Iterator[str]:
        """The names of the tests that the last run says have failed."""
        for line in self._output.read_text(errors="replace").splitlines():
            if found := re.match(r"(?:FAILED|ERROR) (tests/.*?)(?: - |$)", line):
                yield found[1]


class Benches:
    """Several copies of the book in ``folder``, each at work at one mutant at a time."""

    def __init__(self, layout: Layout, folder: Path, number: int) -> None:
        self._known = {(one.file, one.was, one.now): one.why for one in load_equivalent(layout)}
        self._all = [Bench(layout, folder / str(index) / "book") for index in range(number)]
        self._free: SimpleQueue[Bench] = SimpleQueue()

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            self._pool = entered.enter_context(ThreadPoolExecutor(len(self._all)))
            for bench in self._pool.map(entered.enter_context, self._all):
                self._free.put(bench)
            self._entered = entered.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.close()

    def trials(self, chosen: list[tuple[str, Mutant]]) -> Iterator[Trial]:
        """What became of each mutant, in the order given."""
        yield from self._pool.map(self._trial, chosen)

    def idle_killers(self) -> list[str]:
        """What has killed a mutant on any of the copies and proves nothing."""
        return sorted({name for names in self._pool.map(Bench.idle_killers, self._all) for name in names})

    def _trial(self, one: tuple[str, Mutant]) -> Trial:
        part, mutant = one
        begun = time.monotonic()
        trial = Trial(part=part, **{name: getattr(mutant, name) for name in ("file", "line", "kind", "was", "now")})
        if why := self._known.get((mutant.file, mutant.was, mutant.now)):
            trial.outcome, trial.by = "equivalent", why
            return trial
        bench = self._free.get()
        try:
            if by := bench.killer(mutant):
                trial.outcome, trial.by = "killed", by
        finally:
            self._free.put(bench)
        trial.seconds = round(time.monotonic() - begun, 1)
        return trial


class Nearness:
    """Which tests and pages import a module, and how directly."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        packages = sorted(path.parent.name for path in layout.packages.glob("*/__init__.py"))
        sys.path.insert(0, str(layout.packages))
        try:
            self._graph = grimp.build_graph(*packages, cache_dir=None)
        finally:
            sys.path.remove(str(layout.packages))

    def tests(self, module: str) -> tuple[list[str], list[str]]:
        """The file that tests a module, and all others that reach it: those in its folder and that import it first."""
        mirror = self.layout.test_of(module)
        folder = self.layout.root.joinpath("tests", *module.split(".")[:-1])
        near = {path: self._distance(path, module) for path in self._tests}
        others = [path for path, distance in near.items() if distance and self._name(path) != mirror]
        others.sort(key=lambda path: (near[path], path.parent != folder, path))
        return [mirror] if mirror else [], [self._name(path) for path in others]

    def pages(self, module: str) -> list[str]:
        """The pages that reach a module: those that import it first."""
        near = {name: self._distance(self.layout.source(name), module) for name in self.layout.notebooks()}
        reaching = sorted((name for name, distance in near.items() if distance), key=lambda name: (near[name], name))
        return [self._name(self.layout.source(name)) for name in reaching]

    def all_tests(self) -> list[str]:
        """Every file of tests."""
        return [self._name(path) for path in self._tests]

    @cached_property
    def _tests(self) -> list[Path]:
        """All but those in the browser, which look at the built book."""
        found = sorted((self.layout.root / "tests").rglob("test_*.py"))
        return [path for path in found if "site" not in path.relative_to(self.layout.root).parts]

    def _distance(self, path: Path, module: str) -> int:
        """1 for a file that imports the module, 2 for one that imports something that needs it, 0 for no way to it."""
        if path not in self._imported:
            self._imported[path] = self._imports(path)
        imported = self._imported[path]
        if module in imported:
            return 1
        if module not in self._needing:
            self._needing[module] = self._graph.find_downstream_modules(module)
        return 2 if imported & self._needing[module] else 0

    @cached_property
    def _imported(self) -> dict[Path, set[str]]:
        return {}

    @cached_property
    def _needing(self) -> dict[str, set[str]]:
        return {}

    def _imports(self, path: Path) -> set[str]:
        """The modules of ``src`` that a file names or starts, with those of the ``conftest.py`` beside it."""
        beside = path.with_name("conftest.py")
        codes = [one.read_text(encoding="utf-8") for one in {path, beside} if one.is_file()]
        named = {name for code in codes for name in names_in(code)[0]}
        named |= {f"{package}.__main__" for code in codes for package in _STARTED.findall(code)}
        return {module for name in named for module in (name, name.rpartition(".")[0]) if module in self._graph.modules}

    def _name(self, path: Path) -> str:
        return path.relative_to(self.layout.root).as_posix()
