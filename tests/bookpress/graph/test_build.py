"""The whole build of a toy book: it is taken up again after whatever stopped it, and says last what failed."""

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
from bookpress.notebooks.pair import write_pairs

ROOT = Path(__file__).resolve().parents[3]
Edit = Callable[[Path, str, str], None]

#: Takes the place of jupyter-book, which would take most of the time; its manifest says that the site is whole.
SITE = """\
#!/bin/sh
mkdir -p _build/html && echo page > _build/html/index.html
hash=$(sha256sum _build/html/index.html | cut -c1-16)
echo "{\\"html/index.html\\": \\"$hash\\"}" > _build/manifest.json
"""


@pytest.fixture
def book(toy: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("Snakefile", "_config.yml"):
        shutil.copy(ROOT / name, toy.layout.root)
    write_site_builder(toy, SITE)
    programs = [toy.layout.root / "programs", Path(sys.executable).parent, os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, programs)))
    toy.add("good")
    toy.add("good", "direct", imports="from toy_package import alone")
    return toy


def write_site_builder(book: Any, script: str) -> None:
    program = book.layout.root / "programs" / "jupyter-book"
    program.parent.mkdir(exist_ok=True)
    program.write_text(script)
    program.chmod(0o755)


def press(book: Any, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bookpress.cli", *arguments]
    done = subprocess.run(command, cwd=book.layout.root, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    return done


def build(book: Any) -> "subprocess.CompletedProcess[str]":
    return press(book, "build", "--cores", "2")


def jobs(done: "subprocess.CompletedProcess[str]") -> set[str]:
    """The jobs that a build has finished."""
    return set(re.findall(r"^\d+ of \d+: (.*), [\d.]+ s$", done.stderr, flags=re.MULTILINE))


def last(done: "subprocess.CompletedProcess[str]") -> str:
    return done.stderr.strip().splitlines()[-1]


PAGES = {"bind the pages", "build the site"}


@pytest.mark.slow
def test_a_build_heals_what_was_damaged_and_runs_nothing_else(book: Any) -> None:
    layout = book.layout
    write_pairs(layout)
    first = build(book)
    assert jobs(first) == {"run demo/good", "run demo/direct", *PAGES}
    second = build(book)
    assert (second.returncode, second.stderr) == (0, "")

    # What a kill or a power cut may leave.
    aside = layout.build / "laptop" / "demo" / f".good.ipynb.{HOST}-4194305.aside"
    aside.write_text("{")
    record, executed = layout.record("demo/good", "laptop"), layout.executed("demo/direct", "laptop")
    record.write_text(record.read_text().replace('"holds"', '"refuted"', 1))
    executed.write_bytes(executed.read_bytes()[:100])
    third = build(book)
    assert jobs(third) >= {"run demo/good", "run demo/direct"}
    assert not aside.exists()
    for line in ("good.json is damaged", "direct.ipynb is damaged", "removed 1 files"):
        assert line in third.stdout

    # Pages that are missing or bound by hand, and a site that was cut short.
    shutil.rmtree(layout.generated)
    fourth = build(book)
    assert jobs(fourth) == PAGES
    assert layout.generated.is_dir()
    assert press(book, "bind").returncode == 0
    (layout.root / "_build" / "html" / "index.html").write_bytes(b"\0\0\0\0\0")
    fifth = build(book)
    assert jobs(fifth) == PAGES
    assert "the site was damaged or not finished and is made again" in fifth.stdout
    assert (layout.root / "_build" / "html" / "index.html").read_text() == "page\n"

    # A site that cannot be built says why, in the words of its log; a pair that drifted is a warning.
    layout.source("demo/direct").with_suffix(".ipynb").unlink()
    write_site_builder(book, "#!/bin/sh\nprintf 'index.md:3: \\033[31mWARNING\\033[0m: no such page\\n'\nexit 1\n")
    with (layout.root / "_config.yml").open("a") as config:
        config.write("# a change\n")
    sixth = build(book)
    assert sixth.returncode == 1
    assert "warning: the .ipynb says something else than the .py, which counts (make pair): demo/direct" in sixth.stdout
    assert last(sixth).endswith("build the site: index.md:3: WARNING: no such page (build/site.log)")


def test_bad_notebooks_stop_no_other_and_are_named_last(book: Any, edit: Edit) -> None:
    book.layout.source("demo/broken").write_text("# %% [markdown]\n# # Broken\n\n# %%\nx = (1\n")
    book.layout.source("demo/bytes").write_bytes(b"# %% [markdown]\n# # \xff\n")
    book.add("failed_check")
    done = build(book)
    assert done.returncode == 1
    assert jobs(done) == {"run demo/good", "run demo/direct"}
    assert "not whole: 3 failed, what has finished is kept. run demo/" in last(done)
    for why in (
        "demo/broken: broken.py, line 5: ",
        "bytes.py, line 2: not UTF-8 (byte 0xff)",
        "demo/failed_check, cell 5",
    ):
        assert why in done.stdout
    assert "Traceback" not in done.stdout + done.stderr

    # A fault that stops all is one line.
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


def test_pages_are_not_bound_during_a_build(book: Any) -> None:
    book.layout.build.mkdir()
    with (book.layout.build / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = press(book, "bind")
    assert (done.returncode, last(done)) == (1, "not whole: another build of this book is running; nothing was done")
