"""Kernels forked from a server: the same as ordinary ones, and gone when anyone they hang on is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from bookpress.claims.record import Record
from bookpress.notebooks import client, kernels
from bookpress.notebooks.forkserver import INLINE, LAUNCHER, refuse_other_settings
from bookpress.notebooks.kernels import ENVIRONMENT, SERVER_VARIABLE, ForkedKernel, ask_for_kernel
from bookpress.notebooks.run import Exit, RunFailed, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux alone")

BUILDER = """\
import os, sys
from pathlib import Path
from bookpress.notebooks.kernels import SERVER_VARIABLE, start_server
start_server(Path(sys.argv[1]))
print(os.environ[SERVER_VARIABLE], flush=True)
sys.stdin.read()
"""

CLIENT = [sys.executable, "-S", client.__file__]
BOOK_RUN = [sys.executable, "-c", "from bookpress.cli import main; main()", "run"]

#: What a notebook could find changed in an interpreter that has imported the libraries before it was forked.
#: When they are imported, scikit-learn sets variables of OpenMP (KMP) for its own threads, and torch where it compiles.
STATE = """\
import importlib, os, sys, warnings
from bookpress.notebooks.forkserver import LIBRARIES
for name in LIBRARIES: importlib.import_module(name)
import matplotlib, numpy, torch
OTHERS = "JPY", "JUPYTER", "KMP", "TORCHINDUCTOR"
print(sys.path, sys.argv[1:2], os.getcwd(), os.getpgid(0) == os.getpid(), torch.get_num_threads())
print(sorted((name, value) for name, value in os.environ.items() if not name.startswith(OTHERS)))
print(torch.get_default_dtype(), hash("a"), numpy.geterr(), sorted(matplotlib.rcParams.items()))
print(sorted(str(filter) for filter in warnings.filters))
print(sorted(name for name in sys.modules if name.startswith(("bookpress", "attention_theory", "toy"))))
"""


class Build:
    """A process that keeps a kernel server, as a build does."""

    def __init__(self, log: Path) -> None:
        command = [sys.executable, "-c", BUILDER, str(log)]
        self.log = log
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.folder = Path(self.process.stdout.readline().strip())
        self.wait_for_server()

    def wait_for_server(self) -> None:
        """Until it has imported the libraries; the kernel that tells is let go at once."""
        until(lambda: self.kernel() is not None)
        until(lambda: not self.server.children())

    @property
    def server(self) -> psutil.Process:
        (server,) = psutil.Process(self.process.pid).children()
        return server

    def kernel(self, **environment: str) -> ForkedKernel | None:
        """A kernel that waits for a client which never comes."""
        command = [sys.executable, "-m", LAUNCHER, "-f", str(self.folder / f"{time.monotonic_ns()}.json")]
        return ask_for_kernel(self.folder, command, os.environ | ENVIRONMENT | environment)

    def end(self, signum: int = signal.SIGTERM) -> None:
        self.process.send_signal(signum)
        self.process.wait(300)


@pytest.fixture
def build(toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    started = Build(tmp_path / "kernels.log")
    monkeypatch.setenv(SERVER_VARIABLE, str(started.folder))
    yield started
    started.end()
    until(lambda: not started.folder.exists())


def until(happened: Callable[[], bool]) -> None:
    """Wait for something that must happen."""
    limit = time.monotonic() + 300
    while not happened():
        assert time.monotonic() < limit, "it did not happen in five minutes"
        time.sleep(0.02)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid)


def asked(monkeypatch: pytest.MonkeyPatch) -> list[ForkedKernel | None]:
    """What the server answers from now on."""
    answers = []

    def ask(*arguments: Any) -> ForkedKernel | None:
        answers.append(ask_for_kernel(*arguments))
        return answers[-1]

    monkeypatch.setattr(kernels, "ask_for_kernel", ask)
    return answers


def test_a_forked_kernel_gives_the_same_bits(toy: Any, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = toy.add("good")
    answers = asked(monkeypatch)
    forked = run(notebook, layout=toy.layout)
    executed = toy.layout.executed(notebook, "laptop").read_bytes()
    assert [type(answer) for answer in answers] == [ForkedKernel]
    monkeypatch.delenv(SERVER_VARIABLE)
    ordinary = run(notebook, layout=toy.layout)
    assert len(answers) == 1
    assert toy.layout.executed(notebook, "laptop").read_bytes() == executed
    assert unlike(forked, ordinary) == {"seconds"}
    assert build.log.read_text() == ""


def unlike(one: Record, other: Record) -> set[str]:
    return {"seconds"} | {name for name in Record.model_fields if getattr(one, name) != getattr(other, name)}


@pytest.fixture(params=["", "agg"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The backend of matplotlib that whoever builds has set: none, as a rule."""
    monkeypatch.setenv("MPLBACKEND", request.param)
    return str(request.param)


def test_a_forked_kernel_is_in_the_state_of_a_new_one(
    toy: Any, backend: str, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = toy.add("good", imports=STATE)
    answers = asked(monkeypatch)
    forked = said(toy, notebook)
    assert [type(answer) for answer in answers] == [ForkedKernel]
    assert f"('backend', '{backend or INLINE}')" in "".join(forked)
    monkeypatch.setenv(SERVER_VARIABLE, "")
    assert said(toy, notebook) == [line.replace(str(build.folder), "") for line in forked]


def said(toy: Any, notebook: str) -> list[str]:
    """Run, and give what was printed."""
    run(notebook, layout=toy.layout)
    cells = json.loads(toy.layout.executed(notebook, "laptop").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "".join(text for output in outputs if "text" in output for text in output["text"]).splitlines()


def test_every_kernel_draws_its_own_random_numbers(toy: Any, build: Build) -> None:
    draw = "import random, numpy, torch\nprint(random.random(), numpy.random.rand(), torch.rand(1).item())"
    notebook = toy.add("good", imports=draw)
    assert len({number for _ in range(2) for line in said(toy, notebook) for number in line.split()}) == 6


def test_a_killed_kernel_leaves_the_server(toy: Any, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    before, answers = build.server.pid, asked(monkeypatch)
    with pytest.raises(RunFailed, match="the kernel died") as failure:
        run(toy.add("killed"), layout=toy.layout)
    assert failure.value.code is Exit.DEAD_KERNEL
    run(toy.add("good"), layout=toy.layout)
    assert build.server.pid == before
    assert None not in answers
    until(lambda: not build.server.children())


def test_a_killed_server_takes_its_kernels_along_and_is_replaced(build: Build) -> None:
    kernel, before = build.kernel(), build.server.pid
    assert kernel
    assert kernel.poll() is None
    os.kill(before, signal.SIGKILL)
    assert kernel.wait() == -signal.SIGKILL
    until(lambda: gone(kernel.pid) and gone(before))
    until(lambda: "started again" in build.log.read_text())
    build.wait_for_server()
    assert build.server.pid != before


def test_a_killed_build_leaves_nothing(toy: Any, build: Build) -> None:
    runner = subprocess.Popen([*BOOK_RUN, toy.add("endless")], stderr=subprocess.DEVNULL)
    server = build.server
    until(lambda: bool(server.children()))
    started = [server.pid, *(child.pid for child in server.children())]
    build.end(signal.SIGKILL)
    runner.wait(300)
    until(lambda: all(gone(pid) for pid in started))


def test_a_killed_run_leaves_no_kernel(toy: Any, build: Build) -> None:
    runner = subprocess.Popen([*BOOK_RUN, toy.add("endless")])
    until(lambda: bool(build.server.children()))
    runner.kill()
    runner.wait()
    until(lambda: not build.server.children())


def test_a_kernel_tells_its_exit_code_and_takes_signals(build: Build) -> None:
    kernel = build.kernel()
    assert kernel
    kernel.terminate()
    assert kernel.wait() == -signal.SIGTERM
    assert gone(kernel.pid)
    kernel.kill()  # nothing is there any more, and nobody else is hit


def test_kernels_that_cannot_be_forked_are_left_to_be_started(build: Build, tmp_path: Path) -> None:
    assert build.kernel(PYTHONHASHSEED="1") is None
    assert "PYTHONHASHSEED is '0' here and '1' in the request" in build.log.read_text()
    assert ask_for_kernel(build.folder, ["julia", "kernel.jl"], dict(os.environ)) is None
    assert ask_for_kernel(tmp_path, [sys.executable, "-m", LAUNCHER], dict(os.environ)) is None


@pytest.mark.parametrize(
    ("arguments", "code"), [(["run", "demo/good", "--brief"], 0), (["run", "demo/failed_check"], 4), (["run"], 2)]
)
def test_a_forked_command_ends_as_an_ordinary_one(
    toy: Any, build: Build, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    toy.add("good")
    toy.add("failed_check")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    forked = command(*arguments)
    assert forked.returncode == code
    assert build.log.read_text() == ""
    monkeypatch.delenv(SERVER_VARIABLE)
    ordinary = command(*arguments)
    assert (without_seconds(ordinary), ordinary.returncode) == (without_seconds(forked), code)


def test_a_killed_client_ends_its_command(toy: Any, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = toy.add("endless")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    runner = subprocess.Popen([*CLIENT, "run", notebook], stderr=subprocess.DEVNULL)
    until(lambda: len(build.server.children()) == 2)  # the command and its kernel
    runner.kill()
    runner.wait()
    until(lambda: not build.server.children())


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*CLIENT, *arguments], capture_output=True, text=True, check=False)


def without_seconds(done: "subprocess.CompletedProcess[str]") -> str:
    """What was printed, without what differs from run to run.

    A kernel that is interrupted at its end may still say so, or may be gone before it does.
    """
    said = re.sub(r"\d+\.\d s\b", "", done.stdout + done.stderr)
    said = re.sub(r"^\[IPKernelApp\] ERROR \| KeyboardInterrupt caught in kernel\.\n", "", said, flags=re.MULTILINE)
    return said.replace("python -m bookpress", "book")


def test_only_settings_that_are_read_once_are_compared() -> None:
    refuse_other_settings({"BOOK_PROFILE": "full", "OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "1"})
    with pytest.raises(ValueError, match="OMP_NUM_THREADS is None here and '2' in the request"):
        refuse_other_settings({"OMP_NUM_THREADS": "2"}, {})
