"""The whole build: it resumes by itself after whatever stopped it, and says last what failed."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookpress.files import HOST
from bookpress.graph.build import Engine, _last_fault, count_of
from bookpress.layout import Layout
from bookpress.notebooks.pair import write_pairs

ROOT = Path(__file__).resolve().parents[3]
Edit = Callable[[Path, str, str], None]

#: Takes the place of jupyter-book, which would take most of the time.
SITE = "#!/bin/sh\nmkdir -p _build/html && echo page > _build/html/index.html\n"


def test_cores_are_a_number_or_all_that_there_are() -> None:
    assert count_of("3") == 3
    assert count_of("all") == os.cpu_count()


@pytest.fixture
def book(toy: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("Snakefile", "_config.yml"):
        shutil.copy(ROOT / name, toy.layout.root)
    program = toy.layout.root / "programs" / "jupyter-book"
    program.parent.mkdir()
    program.write_text(SITE)
    program.chmod(0o755)
    monkeypatch.setenv(
        "PATH", f"{program.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    toy.add("good")
    toy.add("good", "direct", imports="from toy_package import alone")
    return toy


def build(book: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bookpress", "build", "--cores", "2"]
    done = subprocess.run(command, cwd=book.layout.root, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    return done


def ran(done: "subprocess.CompletedProcess[str]") -> set[str]:
    return set(re.findall(r"\brun demo/(\w+)$", done.stdout + done.stderr, flags=re.MULTILINE))


def last(done: "subprocess.CompletedProcess[str]") -> str:
    return done.stderr.strip().splitlines()[-1]


def test_a_build_heals_what_a_kill_or_a_power_cut_left(book: Any) -> None:
    layout = book.layout
    write_pairs(layout)
    assert build(book).returncode == 0
    second = build(book)
    assert (second.returncode, ran(second)) == (0, set())
    assert "demo/" not in second.stdout

    (layout.root / ".snakemake" / "locks").mkdir(exist_ok=True)
    for number, kind in enumerate(("input", "output")):
        (layout.root / ".snakemake" / "locks" / f"{number}.{kind}.lock").write_text(
            str(layout.record("demo/good", "laptop").relative_to(layout.root))
        )
    aside = layout.build / "laptop" / "demo" / f".good.ipynb.{HOST}-4194305.aside"
    aside.write_text("{")
    record, executed = layout.record("demo/good", "laptop"), layout.executed("demo/direct", "laptop")
    record.write_text(record.read_text().replace('"holds"', '"refuted"', 1))
    executed.write_bytes(executed.read_bytes()[:100])
    (layout.root / "_build" / "html" / "page.html").write_text("")
    third = build(book)
    assert (third.returncode, ran(third)) == (0, {"good", "direct"})
    assert not aside.exists()
    for said in ("good.json is damaged", "direct.ipynb is damaged", "the site was damaged", "removed 1 files"):
        assert said in third.stdout
    record.write_text("")
    assert ran(build(book)) == {"good"}


def test_one_bad_notebook_stops_no_other_and_is_named_last(book: Any) -> None:
    book.layout.source("demo/broken").write_text("# %% [markdown]\n# # Broken\n\n# %%\nx = (1\n")
    book.layout.source("demo/bytes").write_bytes(b"# %% [markdown]\n# # \xff\n")
    book.add("failed_check")
    done = build(book)
    assert done.returncode == 1
    assert {path.stem for path in (book.layout.build / "laptop").rglob("*.json")} == {"good", "direct"}
    assert last(done).startswith(
        "not whole: 3 notebooks have failed, the rest is kept. demo/broken: broken.py, line 5: "
    )
    assert "bytes.py, line 2: not UTF-8 (byte 0xff)" in done.stdout
    assert "demo/failed_check, cell 5" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr

    for name in ("broken", "bytes", "failed_check"):
        book.layout.source(f"demo/{name}").unlink()
    assert build(book).returncode == 0


def test_a_fault_that_stops_all_is_one_line(book: Any, edit: Edit) -> None:
    module = book.module("alone")
    module.write_text("def f(:\n")
    done = build(book)
    assert (done.returncode, last(done)) == (2, "usage: src/toy_package/alone.py, line 1: not Python")
    module.write_bytes(b"\xff")
    assert last(build(book)) == "usage: alone.py, line 1: not UTF-8 (byte 0xff)"
    module.write_text("VALUE = 2\n")
    edit(book.layout.claims / "demo.yaml", "kind: lemma", "kind: lemon")
    done = build(book)
    assert done.returncode == 8
    assert "demo.yaml" in last(done)


def test_a_site_that_fails_is_told_by_its_log(book: Any) -> None:
    (book.layout.root / "programs" / "jupyter-book").write_text(
        "#!/bin/sh\necho 'index.md:3: WARNING: no such page'\nexit 1\n"
    )
    done = build(book)
    assert done.returncode == 1
    assert last(done).endswith("the pages were not made: index.md:3: WARNING: no such page (build/site.log)")


def test_a_second_build_leaves_the_first_alone(book: Any) -> None:
    book.layout.build.mkdir()
    with (book.layout.build / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = build(book)
    assert (done.returncode, last(done)) == (
        1,
        "not whole: another build of this book is running; this one did nothing",
    )


def test_a_pair_that_drifted_is_a_warning(book: Any) -> None:
    assert (
        "warning: the .ipynb says something else than the .py, which counts (make pair): demo/direct"
        in build(book).stdout
    )


def test_the_ends_of_ranges_run_on_the_same_graph_and_are_taken_up_again(book: Any) -> None:
    path = book.layout.source("demo/good")
    path.write_text(path.read_text().replace("require(n=(n, 1, None))", "require(n=(n, 2, 5))\n1 / (5 - n)"))
    command = [sys.executable, "-m", "bookpress", "ends", "demo/good", "--cores", "2"]
    done = subprocess.run(command, cwd=book.layout.root, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert last(done) == "not whole: 1 of 2 runs at the ends of ranges broke"
    assert "demo/good n-most (n=5)" in done.stdout
    assert not book.layout.record("demo/good", "laptop").exists()
    again = subprocess.run(command, cwd=book.layout.root, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout.count("Job ")) == (1, 0)


def test_the_short_notebooks_run_under_another_setting_beside_the_book(
    book: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build(book).returncode == 0
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    command = [sys.executable, "-m", "bookpress", "anywhere", "--cores", "2"]
    done = subprocess.run(command, cwd=book.layout.root, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert "2 notebooks come out under compatible as in the book" in done.stdout
    assert book.layout.elsewhere("demo/good", "compatible").is_file()


def test_the_newest_log_is_asked_what_is_wrong(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert "above" in _last_fault(layout)
    layout.build.mkdir()
    bind, site = layout.build / "bind.log", layout.build / "site.log"
    bind.write_text("reading\nERROR: of the pages\n")
    os.utime(bind, (1, 1))
    site.write_text("Config(by_default=True, show_errors='no')\nindex.md: WARNING: a link leads nowhere\nstopped\n")
    assert _last_fault(layout) == "index.md: WARNING: a link leads nowhere (build/site.log)"
    site.write_text("reading\n\nkilled\n")
    assert _last_fault(layout) == "killed (build/site.log)"
    os.utime(site, (0, 0))
    assert _last_fault(layout) == "ERROR: of the pages (build/bind.log)"


def options(engine: Engine, cores: str) -> dict[str, str]:
    """What Snakemake is told, each option with its values."""
    told = " ".join(engine.arguments(cores)).split("--")[1:]
    return {name: values.strip() for name, _, values in (one.partition(" ") for one in told)}


def test_this_machine_has_one_accelerator_and_another_place_its_own_profile() -> None:
    here = options(Engine(), "3")
    assert (here["cores"], here["resources"]) == ("3", "gpu=1")
    assert "workflow-profile" not in here
    there = options(Engine(profile=Path("a/profile")), "all")
    assert there["workflow-profile"] == "a/profile"
    assert not {"cores", "resources", "jobs"} & there.keys()  # the profile says how many jobs
    assert options(Engine(profile=Path("a/profile")), "3")["jobs"] == "3"


def test_only_graphs_that_share_the_book_run_without_its_lock() -> None:
    assert "nolock" not in options(Engine(), "all")
    shared = options(Engine(shared=True), "all")
    assert "nolock" in shared
    assert shared["quiet"] == "all"
    assert "scheduler-subsample" not in shared
    assert "scheduler-subsample" in options(Engine(in_any_order=True), "all")
