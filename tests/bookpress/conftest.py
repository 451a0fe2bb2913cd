"""A toy book on disk: one paper, one package of two modules, and notebooks that are made to fail in every way."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml

import bookpress
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.kernels import SERVER_VARIABLE, start_server
from bookpress.notebooks.run import run
from bookpress.sweeps.points import Point, PointRecord

CLAIMS = """\
name: demo
number: 1
title: A demonstration
short_title: Demonstration
authors: Nobody
cite: demo
claims:
  - {id: lemma-1, label: Lemma 1, title: One is less, kind: lemma, says: "$1 < n$", check: c,
     notebook: demo/good, expected: holds}
  - {id: lemma-2, label: Lemma 2, kind: lemma, says: s, check: c, notebook: demo/failed_check, expected: holds}
  - {id: lemma-3, label: Lemma 3, kind: lemma, says: s, check: c, notebook: demo/idle_control, expected: holds}
  - {id: lemma-4, label: Lemma 4, kind: lemma, says: s, holds: p, differs: q, check: c,
     notebook: demo/other_verdict, expected: refuted}
  - {id: lemma-6, label: Lemma 6, kind: lemma, says: s, check: c, notebook: demo/settles_nothing, expected: holds}
  - {id: lemma-7, label: Lemma 7, kind: lemma, says: s, check: c, notebook: demo/settles_another, expected: holds}
  - {id: lemma-8, label: Lemma 8, kind: lemma, says: s, check: c, notebook: demo/settles_twice, expected: holds}
  - {id: lemma-5, label: Lemma 5, kind: lemma, check: c, why: It is about all machines at once.}
"""

HEAD = """\
# %% [markdown]
# # {title}
# *Nobody: Lemma.* {prose}
#
{stated}

# %%
{imports}
from bookpress import Claim, show
from attention_theory.validation import Each, require

# %% tags=["parameters"]
n = 3  # n, at least 1

# %%
require(n=(n, 1, None))

# %%
"""


def _settling(claim: str, measured: int = 1, control: int = 4) -> str:
    """A cell that settles a claim by one check and one control, both below ``n``."""
    return (
        f'claim = Claim("{claim}")\nclaim.below("c", {measured}, n)\nclaim.control.below("x", {control}, n)\n'
        "claim.verdict()\n"
    )


BODIES = {
    "good": """\
fig, axis = show.axes()
axis.plot([1, 2, n], label="line")
show.figure(fig, name="line", caption="A line, $y = x$.", alt="a rising line")
show.table(["a", "b"], [[1, 0.5]])

# %%
claim = Claim("demo/lemma-1")
claim.below("one is less", 1 / 3, n)
claim.control.below("four is less", 4, n)
claim.verdict()
""",
    "failed_check": _settling("demo/lemma-2", measured=4),
    "other_verdict": _settling("demo/lemma-4"),
    "unknown_claim": 'Claim("demo/lemma-9")\n',
    "settles_another": _settling("demo/lemma-1"),
    "prints": "while True:\n    print('y' * 1000)\n",
    "raises": "1 / 0\n",
    "shouts": "raise ValueError('e' * 10**7)\n",
    "leaves": "raise SystemExit\n",
    "endless": "import time\n\nwhile True:\n    time.sleep(0.01)\n",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
}


POINT = """\
# %% [markdown]
# # A point

# %%
import os
import signal
import time

from bookpress import report
from attention_theory.validation import Each, require

# %% tags=["parameters"]
n = 3  # n, at least 1
heads = [1, 2]  # H, each at least 1
kind = "a"  # one of "a", "b"
wait = 0.0  # seconds of work, at least 0
ill = "no"  # how it ends, one of "fails", "killed", "memory", "no"
device = "cpu"  # one of "cpu", "cuda"
seed = 0  # of every draw, at least 0

# %%
require(n=(n, 1, None), heads=(Each(heads), 1, None), wait=(wait, 0.0, None), seed=(seed, 0, None))
require(kind=(kind, {"a", "b"}))
require(ill=(ill, {"no", "fails", "killed", "memory"}), device=(device, {"cpu", "cuda"}))

# %%
end = time.process_time() + wait
while time.process_time() < end:
    pass
if ill == "fails":
    raise ValueError("it fails")
if ill == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if ill == "memory":
    held = b"x" * 2_000_000_000
    time.sleep(60)
report(loss=1 / n + seed, total=sum(heads))
"""


class ToyBook:
    """Writes notebooks of :data:`BODIES` into a book of its own."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        for folder in (self.layout.claims, self.layout.sources / "demo", root / "src" / "toy_package"):
            folder.mkdir(parents=True)
        (self.layout.claims / "demo.yaml").write_text(CLAIMS)
        for name, text in {
            "__init__": '"""Toy."""\n',
            "near": "from toy_package import far\n",
            "far": "VALUE = 1\n",
            "alone": "VALUE = 2\n",
        }.items():
            (root / "src" / "toy_package" / f"{name}.py").write_text(text)

    def add(self, body: str, name: str | None = None, imports: str = "import math", prose: str = "") -> str:
        """Write a notebook; under another name than its body's it settles the body's claim under that name."""
        name = name or body
        claims = re.findall(r'Claim\("(demo/lemma-[1-5])"\)', BODIES[body])
        stated = "\n#\n".join(f"# <!-- claim {claim} -->\n# <!-- /claim -->" for claim in claims) or "#"
        text = HEAD.format(title=name.title(), imports=imports, prose=prose, stated=stated) + BODIES[body]
        if name != body:
            text = self._rename_claim(text, body, name)
        self.layout.source(f"demo/{name}").write_text(text)
        return f"demo/{name}"

    def _rename_claim(self, text: str, body: str, name: str) -> str:
        registry = self.layout.claims / "demo.yaml"
        claims = yaml.safe_load(registry.read_text())
        for claim in [one for one in claims["claims"] if one.get("notebook") == f"demo/{body}"]:
            new = f"{name.replace('_', '-')}"
            text = text.replace(f"demo/{claim['id']}", f"demo/{new}")
            others = [one for one in claims["claims"] if one.get("notebook") != f"demo/{name}"]
            claims["claims"] = [*others, {**claim, "id": new, "notebook": f"demo/{name}"}]
        registry.write_text(yaml.safe_dump(claims, sort_keys=False))
        return text

    def add_point(self) -> str:
        """Write a notebook that makes one point of a figure."""
        path = self.layout.source("demo/points/point")
        path.parent.mkdir(exist_ok=True)
        path.write_text(POINT)
        return "demo/points/point"

    def module(self, name: str) -> Path:
        return self.layout.packages / "toy_package" / f"{name}.py"


OWN = str(Path(bookpress.__file__).parents[1])


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A server that forks the kernels of all toy books, and the link by which they find the packages of the present."""
    folder = tmp_path_factory.mktemp("server")
    with patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join([str(folder / "src"), OWN])}):
        start_server(folder / "kernels.log", folder / "matplotlib")
        return os.environ.get(SERVER_VARIABLE, ""), folder / "src"


@pytest.fixture
def toy(tmp_path: Path, server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> ToyBook:
    monkeypatch.setenv("BOOKPRESS_ROOT", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "src"), OWN]))
    started, link = server
    monkeypatch.setenv(SERVER_VARIABLE, started)
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path / "src")
    return ToyBook(tmp_path)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that needs a run of the good notebook keeps it for the others."""
    return tmp_path_factory.mktemp("runs") / LAPTOP


@pytest.fixture
def toy_with_a_run(toy: ToyBook, runs: Path) -> ToyBook:
    """The toy book with one notebook, which has run."""
    name, made = toy.add("good", prose="Words."), toy.layout.build / LAPTOP
    if runs.exists():
        shutil.copytree(runs, made)
    else:
        run(name, layout=toy.layout)
        shutil.copytree(made, runs)
    return toy


@pytest.fixture
def edit() -> Callable[[Path, str, str], None]:
    def replace(path: Path, old: str, new: str) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return replace


@pytest.fixture
def a_record() -> Callable[..., PointRecord]:
    """Makes the record of a point, with changes."""

    def record(point: Point, **changes: Any) -> PointRecord:
        values: dict[str, Any] = {
            "notebook": point.notebook,
            "parameters": point.parameters,
            "numbers": {"loss": float("inf")},
            "verdicts": {},
            "fingerprint": "f",
            "commit": "",
            "environment": {"device": "CPU"},
            "seconds": 1.0,
        }
        return PointRecord(**values | changes)

    return record


@pytest.fixture
def shop(toy: ToyBook, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ToyBook:
    """The toy book with the exports of the test's module, in a package of their own."""
    folder = toy.layout.packages / request.module.__name__.rpartition(".")[2] / "demo"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").touch()
    (folder / "export.py").write_text(request.module.EXPORT)
    monkeypatch.syspath_prepend(str(toy.layout.packages))
    return toy
