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
    """A book of two notebooks that was never built."""
    for name in ("Snakefile", "_config.yml"):
        shutil.copy(ROOT / name, toy.layout.root)
    write_site_builder(toy, SITE)
    programs = [toy.layout.root / "programs", Path(sys.executable).parent, os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, programs)))
    toy.add("good")
    toy.add("good", "direct", imports="from toy_package import alone")
    write_pairs(toy.layout)
    return toy


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that needs a built book keeps it for those after it."""
    return tmp_path_factory.mktemp("whole") / "book"


@pytest.fixture
def built(book: Any, whole: Path) -> Any:
    """The book after a build."""
    if not whole.exists():
        first = build(book)
        assert jobs(first) == {"run demo/good", "run demo/direct", *PAGES}
        shutil.copytree(book.layout.root, whole)
    shutil.copytree(whole, book.layout.root, dirs_exist_ok=True)
    return book


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
def test_a_second_build_has_nothing_to_do_and_warns_of_a_pair_that_drifted(built: Any) -> None:
    built.layout.source("demo/direct").with_suffix(".ipynb").unlink()
    second = build(built)
    assert (second.returncode, second.stderr) == (0, "")
    assert (
        "warning: the .ipynb says something else than the .py, which counts (make pair): demo/direct" in second.stdout
    )


@pytest.mark.slow
def test_what_is_damaged_is_named_and_made_again_and_nothing_else(built: Any, edit: Edit) -> None:
    layout = built.layout
    site, made = layout.root / "_build" / "html" / "index.html", layout.build / "laptop" / "demo"
    site.write_bytes(b"\0\0\0\0\0")
    (made / f".good.ipynb.{HOST}-4194305.aside").write_text("{")
    first = build(built)
    assert "the site was damaged or not finished and is made again" in first.stdout
    assert "files that an interrupted run had left" in first.stdout
    assert jobs(first) == {"build the site"}
    assert site.read_text() == "page\n"
    assert list(layout.build.rglob("*.aside")) == []

    shutil.rmtree(layout.generated)
    cut = layout.executed("demo/direct", "laptop")
    cut.write_bytes(cut.read_bytes()[:100])
    second = build(built)
    assert "direct.ipynb is damaged" in second.stdout
    assert "pages are missing or damaged" in second.stdout
    assert jobs(second) == {"run demo/direct", *PAGES}
    assert layout.generated.is_dir()

    edit(layout.record("demo/good", "laptop"), '"holds"', '"refuted"')
    third = build(built)
    assert "good.json is damaged" in third.stdout
    assert jobs(third) == {"run demo/good", *PAGES}


@pytest.mark.slow
def test_a_site_that_cannot_be_built_says_why(built: Any) -> None:
    write_site_builder(built, "#!/bin/sh\nprintf 'index.md:3: \\033[31mWARNING\\033[0m: no such page\\n'\nexit 1\n")
    with (built.layout.root / "_config.yml").open("a") as config:
        config.write("# a change\n")
    done = build(built)
    assert done.returncode == 1
    assert last(done).endswith("build the site: index.md:3: WARNING: no such page (build/site.log)")


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
    book.layout.build.mkdir(exist_ok=True)
    with (book.layout.build / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = press(book, "bind")
    assert (done.returncode, last(done)) == (1, "not whole: another build of this book is running; nothing was done")
