"""Kernels: the same whether forked or started, without a reader's own settings, and gone with whoever needed them."""

import json
import os
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
from bookpress.notebooks.kernels import ENVIRONMENT, SERVER_VARIABLE, ForkedKernel
from bookpress.notebooks.run import Exit, RunFailed, run

linux = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux alone")

BUILDER = """\
import os, sys
from pathlib import Path
from bookpress.notebooks.kernels import SERVER_VARIABLE, start_server
start_server(Path(sys.argv[1], "kernels.log"), Path(sys.argv[1], "matplotlib"))
print(os.environ[SERVER_VARIABLE], flush=True)
sys.stdin.read()
"""

#: What a notebook could find changed in an interpreter that has imported the libraries before it was forked.
#: When they are imported, scikit-learn sets variables of OpenMP (KMP) for its own threads, and torch where it compiles.
STATE = """\
import importlib, os, sys, warnings
from bookpress.notebooks.kernels import LIBRARIES
for name in LIBRARIES: importlib.import_module(name)
import matplotlib, numpy, torch
OTHERS = "BOOK_", "IPYTHON", "JPY", "JUPYTER", "KMP", "TORCHINDUCTOR"
print(sys.path, sys.argv[1:2], os.getcwd(), os.getpgid(0) == os.getpid(), torch.get_num_threads())
print(sorted((name, value) for name, value in os.environ.items() if not name.startswith(OTHERS)))
print(torch.get_default_dtype(), hash("a"), numpy.geterr(), sorted(matplotlib.rcParams.items()))
print(sorted(str(filter) for filter in warnings.filters))
print(sorted(name for name in sys.modules if name.startswith(("attention_theory", "toy"))))
"""


class Build:
    """A process that keeps a kernel server, as a build does."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "kernels.log"
        command = [sys.executable, "-c", BUILDER, str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.folder = Path(self.process.stdout.readline().strip())

    @property
    def server(self) -> psutil.Process:
        (server,) = psutil.Process(self.process.pid).children()
        return server

    def end(self, signum: int = signal.SIGTERM) -> None:
        self.process.send_signal(signum)
        self.process.wait(300)


@pytest.fixture
def build(toy: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    toy.layout.build.mkdir()
    started = Build(toy.layout.build)
    monkeypatch.setenv(SERVER_VARIABLE, str(started.folder))
    yield started
    started.end()


def waiting_kernel(folder: Path, **environment: str) -> ForkedKernel:
    """A kernel that waits for a client which never comes."""
    settings = {"MPLCONFIGDIR": str(folder / "matplotlib")} | environment
    arguments, settings = ["-f", str(folder / "waiting.json")], os.environ | ENVIRONMENT | settings
    return ForkedKernel(arguments=arguments, environment=settings, folder=str(folder))


def until(happened: Callable[[], bool]) -> None:
    """Wait for something that must happen."""
    limit = time.monotonic() + 300
    while not happened():
        assert time.monotonic() < limit, "it did not happen in five minutes"
        time.sleep(0.02)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def printed(toy: Any, notebook: str) -> list[str]:
    """Run, and give what was printed."""
    run(notebook, layout=toy.layout)
    cells = json.loads(toy.layout.executed(notebook, "laptop").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "".join(text for output in outputs if "text" in output for text in output["text"]).splitlines()


@linux
def test_a_forked_kernel_gives_the_same_bits_in_the_state_of_a_new_one(
    toy: Any, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = toy.add("good", imports=STATE)
    forked = printed(toy, notebook)
    first = Record.read(toy.layout.record(notebook, "laptop"))
    assert build.log.read_text() == ""
    monkeypatch.delenv(SERVER_VARIABLE)
    assert printed(toy, notebook) == forked
    second = Record.read(toy.layout.record(notebook, "laptop"))
    different = {name for name in Record.model_fields if getattr(first, name) != getattr(second, name)}
    assert different <= {"seconds"}


@linux
def test_kernels_are_forked_and_each_draws_its_own_random_numbers(toy: Any, build: Build) -> None:
    draw = "import os, random, numpy, torch\nimport psutil\nprint(psutil.Process().parent().parent().pid)\n"
    draw += "print(random.random(), numpy.random.rand(), torch.rand(1).item())"
    notebook = toy.add("good", imports=draw)
    runs = [printed(toy, notebook) for _ in range(2)]
    assert {lines[0] for lines in runs} == {str(build.server.pid)}
    assert len({number for lines in runs for number in lines[1].split()}) == 6


@linux
def test_a_killed_kernel_leaves_the_server(toy: Any, build: Build) -> None:
    before = build.server.pid
    with pytest.raises(RunFailed, match="the kernel died") as failure:
        run(toy.add("killed"), layout=toy.layout)
    assert failure.value.code is Exit.DEAD_KERNEL
    run(toy.add("good"), layout=toy.layout)
    assert build.server.pid == before


@linux
def test_a_killed_server_takes_its_kernels_along_and_later_ones_are_started(toy: Any, build: Build) -> None:
    kernel = waiting_kernel(toy.layout.build)
    assert kernel.poll() is None
    build.server.kill()
    until(lambda: kernel.poll() is not None and gone(kernel.pid))
    run(toy.add("good"), layout=toy.layout)


@linux
@pytest.mark.parametrize("killed", ["build", "run"])
def test_neither_a_killed_build_nor_a_killed_run_leaves_anything(toy: Any, build: Build, killed: str) -> None:
    environment = os.environ | {"BOOK_BUILDER": str(build.process.pid)}
    command = [sys.executable, "-m", "bookpress.cli", "run", toy.add("endless")]
    runner = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
    server = build.server
    until(lambda: len(server.children(recursive=True)) == 2)  # the kernel and its guard
    started = [child.pid for child in server.children(recursive=True)]
    if killed == "build":
        build.end(signal.SIGKILL)
        started.append(server.pid)
    else:
        runner.kill()
    runner.wait(300)
    until(lambda: all(gone(pid) for pid in started))


@linux
def test_a_kernel_can_be_killed_and_takes_its_children_along(toy: Any, build: Build) -> None:
    kernel = waiting_kernel(toy.layout.build)
    kernel.kill()
    until(lambda: kernel.poll() is not None and gone(kernel.pid))
    left = 'import subprocess\nprint(subprocess.Popen(["sleep", "600"]).pid)'
    child = int(printed(toy, toy.add("good", imports=left))[0])
    until(lambda: gone(child))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's home with settings of their own, each of which would be seen in a run."""
    home = tmp_path / "home"
    spec = {"argv": ["false"], "display_name": "Mine", "language": "python"}
    for name, text in {
        ".config/matplotlib/matplotlibrc": "lines.linewidth: 9\n",
        ".ipython/profile_default/startup/0.py": "print('start-up')\n",
        ".ipython/profile_default/ipython_kernel_config.py": "print('configuration')\n",
        ".local/share/jupyter/kernels/python3/kernel.json": json.dumps(spec),
        "start.py": "print('python start-up')\n",
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    for name in ("IPYTHONDIR", "MPLCONFIGDIR", "XDG_CONFIG_HOME", SERVER_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    monkeypatch.setenv("MATPLOTLIBRC", str(home / ".config" / "matplotlib"))
    monkeypatch.setenv("PYTHONSTARTUP", str(home / "start.py"))
    return home


WIDTH = 'import matplotlib\nprint(matplotlib.rcParams["lines.linewidth"])'


def test_a_readers_own_settings_change_nothing(toy: Any, home: Path) -> None:
    assert printed(toy, toy.add("good", imports=WIDTH)) == ["1.5"]


@linux
def test_a_readers_own_settings_do_not_reach_forked_kernels(toy: Any, home: Path, build: Build) -> None:
    assert printed(toy, toy.add("good", imports=WIDTH)) == ["1.5"]
    assert build.log.read_text() == ""


def test_no_home_is_needed(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", os.devnull)
    monkeypatch.delenv(SERVER_VARIABLE)
    assert printed(toy, toy.add("good", imports=WIDTH)) == ["1.5"]
