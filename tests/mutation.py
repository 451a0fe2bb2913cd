"""How many small wrong changes of the package its tests and pages notice: ``make mutants``.

A copy of the repository is changed, never the repository. The tests that reach a changed module are tried in order of
nearness: the one that mirrors it, those that import it, those that reach it through other modules; then the pages that
import it, which fail by their evidence or by a value that is not the kept one. The first that fails has killed the
mutant. In the end every killer is run once more on the unchanged copy, where it has to pass.
"""

import argparse
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grimp
import yaml

from bookpress.layout import Layout
from bookpress.notebooks.dependencies import names_in
from mutants import Mutant, choose, mutants_of

#: The fraction of mutants that has to be killed, of those that differ from the code at all.
GOAL = 0.92

#: Seconds of a processor for the test that mirrors a module, for all other tests, for a page; and how many pages.
MIRROR, OTHERS, PAGE, PAGES = 40, 80, 30, 3

#: Seconds of a processor for all killers on the unchanged copy.
BASELINE = 900

#: A run that only waits takes no processor time: it ends after so many times its seconds by the clock.
PATIENCE = 4

#: The exit code where the seconds of a processor are used up, and those of pytest without a failed test.
TOO_LONG = -signal.SIGXCPU
PASSED = (0, 5)

_MADE = shutil.ignore_patterns(".*", "build", "_build", "__pycache__", "*.egg-info", "*.aside")


class Copy:
    """A copy of the repository, in which one mutant at a time is made and tried."""

    def __init__(self, layout: Layout, folder: Path) -> None:
        shutil.copytree(layout.root, folder, ignore=_MADE)
        self.layout = Layout(folder)
        self.reach = Nearness(self.layout)
        self._changes = 0

    def killer(self, mutant: Mutant) -> str:
        """Name the first test or page that fails with the mutant; empty if none does.

        A time that ran out counts for the tests of the module itself. Other tests and pages say nothing then.
        """
        path = self.layout.packages / mutant.file
        before, age = path.read_bytes(), path.stat().st_mtime
        self._changes += 1
        path.write_bytes(mutant.applied(before))
        os.utime(path, (age + self._changes, age + self._changes))  # or the file compiled last would be taken
        try:
            return next(self._killers(mutant.module), "")
        finally:
            path.write_bytes(before)
            os.utime(path, (age, age))

    def _killers(self, module: str) -> Iterator[str]:
        mirror, others = self.reach.tests(module)
        for files, seconds in ((mirror, MIRROR), (others, OTHERS)):
            code, output = self.run_tests(files, seconds) if files else (0, "")
            if code == TOO_LONG and files == mirror:
                yield f"{files[0]} (time)"
            elif code not in (None, TOO_LONG, *PASSED):
                yield next(failures(output), files[0])
        for page in self.reach.pages(module)[:PAGES]:
            if self.run_page(page) not in (None, TOO_LONG, 0):
                yield page

    def run_tests(self, names: list[str], seconds: int, option: str = "-x") -> tuple[int | None, str]:
        """The exit code of pytest, None where it only waited, and its output."""
        options = [
            option,
            "--no-header",
            "-rfE",
            "-pno:cacheprovider",
            "-pno:xdist",
            "-m=not ends and not anywhere and not exhaustive",
        ]
        options += ["--hypothesis-profile=first-failure", "--hypothesis-seed=0"]
        return self._run(["-m", "pytest", *options, *names], seconds)

    def run_page(self, page: str) -> int | None:
        return self._run(["-c", f"import mutation; mutation.run_page({page!r})"], PAGE)[0]

    def _run(self, arguments: list[str], seconds: int) -> tuple[int | None, str]:
        """Run Python in the copy for so many seconds of a processor; nothing that it has started is left."""
        root = self.layout.root
        settings = {
            "PYTHONPATH": os.pathsep.join([str(self.layout.packages), str(root / "tests")]),
            "BOOKPRESS_ROOT": str(root),
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "agg",
        }
        process = subprocess.Popen(
            ["bash", "-c", f'ulimit -S -t {seconds}; exec "$@"', "bash", sys.executable, *arguments],
            cwd=root,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=PATIENCE * seconds)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Nearness:
    """Which tests and pages reach a module, and how directly."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        sys.path.insert(0, str(layout.packages))
        try:
            packages = sorted(path.parent.name for path in layout.packages.glob("*/__init__.py"))
            self._graph = grimp.build_graph(*packages, cache_dir=None)
        finally:
            sys.path.remove(str(layout.packages))
        tests = sorted((layout.root / "tests").rglob("test_*.py"))
        in_browser = layout.root / "tests" / "site"
        self._tests = {self._name(path): self._imports(path) for path in tests if in_browser not in path.parents}
        pages = [layout.source(name) for name in layout.notebooks()]
        self._pages = {self._name(path): self._imports(path) for path in pages}

    def tests(self, module: str) -> tuple[list[str], list[str]]:
        """The file that tests a module, and all others that reach it: those that import it and in its folder first."""
        *folders, name = module.split(".")
        folder = "/".join(["tests", *folders])
        mirror = f"{folder}/test_{name}.py"
        others = sorted(
            (name for name in self._reaching(self._tests, module) if name != mirror),
            key=lambda name: (module not in self._tests[name], name.rpartition("/")[0] != folder, name),
        )
        return [mirror] if mirror in self._tests else [], others

    def pages(self, module: str) -> list[str]:
        """The pages that reach a module: those that import it first."""
        reaching = self._reaching(self._pages, module)
        return sorted(reaching, key=lambda name: (module not in self._pages[name], name))

    def _reaching(self, files: dict[str, set[str]], module: str) -> list[str]:
        needing = {module, *self._graph.find_downstream_modules(module)}
        return [name for name, imported in files.items() if imported & needing]

    def _imports(self, path: Path) -> set[str]:
        """The modules of ``src`` that a file or the ``conftest.py`` next to it imports, or starts as a program."""
        texts = [file.read_text(encoding="utf-8") for file in {path, path.with_name("conftest.py")} if file.is_file()]
        named = {name for text in texts for name in names_in(text)[0]}
        named |= {f"{package}.__main__" for text in texts for package in re.findall(r'"-m", "(\w+)"', text)}
        return {module for name in named for module in (name, name.rpartition(".")[0])} & self._graph.modules

    def _name(self, path: Path) -> str:
        return path.relative_to(self.layout.root).as_posix()


def run_page(file: str) -> None:
    """Run a notebook to its end and compare its values with those that are kept, as the tests of the book do.

    Raises:
        AssertionError: it found something else; the message says what.
    """
    import IPython.display

    shown: list[Any] = []
    IPython.display.display = lambda *objects, **_: shown.extend(objects)
    runpy.run_path(file, run_name="__main__")

    from bookpress.claims.evidence import CLAIM_MIME, Settled
    from bookpress.claims.record import Record
    from laptop_values import differences

    if claims := [output[CLAIM_MIME] for output in shown if CLAIM_MIME in output]:
        record = Record.model_construct(
            notebook=Path(file).relative_to("notebooks").with_suffix("").as_posix(),
            claims=[Settled.model_validate(claim["settled"]) for claim in claims],
            environment=claims[-1]["environment"],
        )
        faults = differences(Layout.here(), record)
        assert not faults, "\n".join(faults)


def failures(output: str) -> Iterator[str]:
    """The names of the tests that failed, from the output of pytest."""
    yield from re.findall(r"^(?:FAILED|ERROR) (tests/.*?)(?: - .*)?$", output, re.MULTILINE)


def chosen_mutants(layout: Layout, seed: int, count: int, only: str = "") -> list[tuple[str, Mutant]]:
    """The mutants to be tried, each with its part: a paper's room, the rest of its package, or another package."""
    papers = {path.stem.replace("-", "_") for path in layout.claims.glob("*.yaml")}
    pools: dict[str, list[Mutant]] = {}
    for path in sorted(layout.packages.rglob("*.py")):
        package, *inner = path.relative_to(layout.packages).parts
        part = f"{package}/{inner[0]}" if inner[0] in papers else package
        for mutant in mutants_of(layout.packages, path.relative_to(layout.packages).as_posix()):
            pools.setdefault(part, []).append(mutant)
    if only:
        return [(part, each) for part, pool in pools.items() for each in pool if only in f"{each.file}:{each.line}:"]
    shares = [[(part, mutant) for mutant in pool] for part, pool in choose(pools, seed, count).items()] if pools else []
    return [pair for turn in zip_longest(*shares) for pair in turn if pair]


def equivalents(layout: Layout) -> dict[tuple[str, str, str], str]:
    """Why a mutant is no fault, by its file and its line before and after: ``tests/mutants_equivalent.yaml``."""
    path = layout.root / "tests" / "mutants_equivalent.yaml"
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []
    return {(entry["file"], entry["was"], entry["now"]): entry["why"] for entry in entries}


def try_mutants(layout: Layout, chosen: list[tuple[str, Mutant]], cores: int) -> int:
    """Try to kill each mutant, name the survivors, and return the exit code.

    It is 1 where fewer than the goal are killed, or where a killer fails without any mutant.
    """
    known = equivalents(layout)
    counts: dict[str, Counter[str]] = {}
    killers, survivors = set(), []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(cores) as pool:
        free: SimpleQueue[Copy] = SimpleQueue()
        for number in range(cores):
            free.put(Copy(layout, Path(folder, str(number))))

        def trial(mutant: Mutant) -> tuple[str, str]:
            if why := known.get((mutant.file, mutant.was, mutant.now)):
                return "equivalent", why
            copy = free.get()
            try:
                name = copy.killer(mutant)
            finally:
                free.put(copy)
            return ("killed", name) if name else ("survived", f"{mutant.was}  ->  {mutant.now}")

        results = pool.map(trial, [mutant for _, mutant in chosen])
        for number, ((part, mutant), (outcome, detail)) in enumerate(zip(chosen, results, strict=True), 1):
            line = f"{outcome} {mutant.file}:{mutant.line}, {mutant.kind}: {detail}"
            print(f"{number}/{len(chosen)} {line}", flush=True)
            counts.setdefault(part, Counter())[outcome] += 1
            killers |= {detail} if outcome == "killed" else set()
            survivors += [line] if outcome == "survived" else []
        idle = failing_unchanged(free.get(), killers)
    print(*(f"{part}: {dict(count)}" for part, count in counts.items()), *survivors, sep="\n")
    total = sum(counts.values(), Counter())
    score = total["killed"] / max(total["killed"] + total["survived"], 1)
    print(f"{score:.1%} of the mutants that differ from the code are killed; the goal is {GOAL:.0%}")
    if idle:
        print(f"these fail without any mutant, so that the run says nothing: {', '.join(idle)}")
    return int(bool(idle) or (score < GOAL and bool(survivors)))


def failing_unchanged(copy: Copy, killers: set[str]) -> list[str]:
    """Of the killers those that fail on the unchanged copy as well, or take all their time there."""
    tests = sorted(name for name in killers if name.startswith("tests/") and not name.endswith(" (time)"))
    slow = sorted(name.removesuffix(" (time)") for name in killers if name.endswith(" (time)"))
    code, output = copy.run_tests(tests, BASELINE, "--quiet") if tests else (0, "")
    failing = list(failures(output)) or (tests if code else [])
    failing += [name for name in slow if copy.run_tests([name], MIRROR // 2)[0] != 0]
    return failing + [page for page in sorted(killers) if page.startswith("notebooks/") and copy.run_page(page) != 0]


def main() -> None:
    """Make the mutants that the command line names, and try to kill each."""
    parser = argparse.ArgumentParser(description="Make small wrong changes in a copy of the package and try the tests.")
    parser.add_argument("only", nargs="?", default="", help="FILE:LINE or a part of it, in place of chosen mutants")
    parser.add_argument("--seed", type=int, default=0, help="chooses the mutants")
    parser.add_argument("--count", type=int, default=105, help="how many, in equal shares for the parts of the package")
    parser.add_argument("--cores", default="all", help="how many copies are at work, or 'all'")
    arguments = parser.parse_args()
    layout = Layout.here()
    chosen = chosen_mutants(layout, arguments.seed, arguments.count, arguments.only)
    if not chosen:
        parser.error(f"there is nothing to change at {arguments.only!r}")
    cores = len(os.sched_getaffinity(0)) if arguments.cores == "all" else int(arguments.cores)
    sys.exit(try_mutants(layout, chosen, min(cores, len(chosen))))


if __name__ == "__main__":
    main()
