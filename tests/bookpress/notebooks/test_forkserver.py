"""The server that forks, piece by piece in this process: what it refuses, and how it takes and tells an end."""

import errno
import gc
import importlib
import json
import os
import re
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from bookpress.notebooks import forkserver
from bookpress.notebooks.forkserver import (
    INLINE,
    Child,
    Request,
    answer,
    become_book,
    enter,
    fork,
    keep_priority,
    reap,
    refuse_other_settings,
    serve,
    warm_up,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux alone")

NOBODY = 1 << 23


@pytest.fixture(autouse=True)
def _in_a_minute() -> Iterator[None]:
    """A server that waits for what never comes is a failure."""

    def late(*_: object) -> None:
        pytest.fail("it still waits after a minute")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("asked", "here"),
    [
        ({}, {}),
        ({"PYTHONPATH": "a", "HOME": "b"}, {"PYTHONPATH": "a", "HOME": "c"}),
        ({"A_READER": "1"}, {"MY_PYTHON": "2"}),
    ],
)
def test_what_is_read_by_every_process_may_differ(asked: dict[str, str], here: dict[str, str]) -> None:
    refuse_other_settings(asked, here)


@pytest.mark.parametrize("name", ["PYTHONPATH", "OMP_NUM_THREADS", "MPLBACKEND", "LD_LIBRARY_PATH", "TORCH_HOME"])
def test_what_was_read_once_may_not_differ(name: str) -> None:
    for asked, here in (({name: "1"}, {name: "2"}), ({name: "1"}, {}), ({}, {name: "2"})):
        said = f"^{name} is {here.get(name)!r} here and {asked.get(name)!r} in the request$"
        with pytest.raises(ValueError, match=said):
            refuse_other_settings(asked, here)


def started(command: str) -> int:
    """A process that leads a group of its own."""
    return os.posix_spawn("/bin/sh", ["sh", "-c", command], {}, setpgroup=0)


def until(happened: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < limit
        time.sleep(0.005)


@pytest.fixture
def ready() -> Iterator[selectors.DefaultSelector]:
    with selectors.DefaultSelector() as selector:
        yield selector


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The two ends of a connection: the server's, and the one of whoever asks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        theirs.settimeout(30)
        yield ours, theirs


def test_a_kernel_is_killed_with_what_it_has_started() -> None:
    pid = started("sleep 60 & wait")
    until(lambda: bool(psutil.Process(pid).children()))
    (inner,) = psutil.Process(pid).children()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = Child(pid, -1, ours)
        child.kill()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        until(lambda: not inner.is_running() or inner.status() == psutil.STATUS_ZOMBIE)
        Child(NOBODY, -1, ours).kill()  # one that has gone is no fault


@pytest.mark.parametrize(("command", "code"), [("exit 3", b"3"), ("exit 0", b"0"), ("kill -15 $$", b"-15")])
@pytest.mark.parametrize("waited_for", [True, False])
def test_the_end_of_a_kernel_is_told_and_cleared_away(
    command: str, code: bytes, waited_for: bool, ready: selectors.DefaultSelector, ends: Any
) -> None:
    ours, theirs = ends
    pid = started(command)
    child = Child(pid, os.pidfd_open(pid), ours)
    ready.register(child.end, selectors.EVENT_READ, child)
    if waited_for:  # else the server has noticed already that the other side has gone
        ready.register(ours, selectors.EVENT_READ, child)
    assert ready.select(30)[0][0].data is child
    reap(child, ready)
    assert theirs.recv(16) == code
    assert theirs.recv(16) == b""  # and hung up
    assert not ready.get_map()
    with pytest.raises(OSError, match="Bad file") as closed:
        os.fstat(child.end)
    assert closed.value.errno == errno.EBADF


def test_a_kernel_whose_asker_has_gone_is_cleared_away_all_the_same(
    ready: selectors.DefaultSelector, ends: Any
) -> None:
    ours, theirs = ends
    pid = started("exit 0")
    child = Child(pid, os.pidfd_open(pid), ours)
    ready.register(child.end, selectors.EVENT_READ, child)
    theirs.close()
    reap(child, ready)
    assert not ready.get_map()
    assert not psutil.pid_exists(pid)


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.chdir(tmp_path)  # the name of a socket may not be long
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as made:
        made.bind("socket")
        made.listen(4)
        yield made


def asking(message: bytes) -> tuple[socket.socket, int]:
    """A connection that has asked, and the end of a pipe that is read to its end once all copies are closed."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(30)
    connection.connect("socket")
    reading, writing = os.pipe()
    socket.send_fds(connection, [message], [writing, writing])
    os.close(writing)
    return connection, reading


ASKED = {"program": "kernel", "arguments": ["-f", "a"], "environment": {"HOME": "b"}, "folder": "/"}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"no JSON", "no kernel: Expecting value"),
        (json.dumps({"program": "kernel"}).encode(), "no kernel: .*missing"),
        (json.dumps(ASKED | {"environment": {"PYTHONPATH": "c"}}).encode(), "no kernel: PYTHONPATH is None here"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_and_its_files_are_closed(
    message: bytes, said: str, listener: socket.socket, ready: selectors.DefaultSelector, capfd: Any
) -> None:
    connection, reading = asking(message)
    with connection:
        assert answer(listener, {}, ready) is None
        assert connection.recv(16) == b""
    assert os.read(reading, 1) == b""
    os.close(reading)
    assert not ready.get_map()
    assert re.search(said, capfd.readouterr().err)


def test_a_request_is_met_by_a_process_whose_number_is_told(
    listener: socket.socket, ready: selectors.DefaultSelector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forkserver, "fork", lambda *_: started("sleep 60"))
    connection, reading = asking(json.dumps(ASKED).encode())
    with connection:
        assert answer(listener, {}, ready) is None
        pid = int(connection.recv(16))
        children = {key.data for key in ready.get_map().values()}
        assert {child.pid for child in children} == {pid}
        assert len(ready.get_map()) == 2  # its end, and the other side's
        (child,) = children
        child.kill()
        reap(child, ready)
        assert connection.recv(16) == b"-9"
        assert os.read(reading, 1) == b""  # the server keeps none of its files
        os.close(reading)


def test_in_the_new_process_the_request_comes_back(
    listener: socket.socket, ready: selectors.DefaultSelector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forkserver, "fork", lambda *_: 0)
    connection, reading = asking(json.dumps(ASKED).encode())
    with connection:
        request = answer(listener, {"HOME": "other"}, ready)
    assert request is not None
    assert request == Request(**ASKED, files=request.files)  # type: ignore[arg-type]
    assert len(request.files) == 2
    for file in request.files:
        os.write(file, b"x")
        os.close(file)
    assert os.read(reading, 3) == b"xx"
    os.close(reading)


@pytest.fixture
def closing(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """What closes the standard input of the server when it is closed."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield writing


def test_the_server_ends_with_its_input_and_takes_its_kernels_along(
    listener: socket.socket, closing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = []

    def fork(*_: Any) -> int:
        pids.append(started("sleep 60"))
        os.close(closing)
        return pids[0]

    monkeypatch.setattr(forkserver, "fork", fork)
    connection, reading = asking(json.dumps(ASKED).encode())
    with connection:
        assert serve(listener, {}) is None
        assert os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]) == -signal.SIGKILL
    os.close(reading)


def test_the_server_tells_ends_and_ends_what_nobody_waits_for(
    listener: socket.socket, closing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three requests: one ends by itself, one loses its asker, and behind the third stands the new process."""
    first, _ = asking(json.dumps(ASKED).encode())
    second, _ = asking(json.dumps(ASKED).encode())
    third, _ = asking(json.dumps(ASKED).encode())
    pids: list[int] = []
    reaped: list[int] = []

    def fork(*_: Any) -> int:
        if len(pids) == 0:
            pids.append(started("exit 7"))
            return pids[-1]
        if len(pids) == 1:
            pids.append(started("sleep 60"))
            second.close()
            return pids[-1]
        return 0

    def accepted(*arguments: Any) -> Request | None:
        if len(pids) == 2 and len(reaped) < 2:
            return None  # the third waits until both have ended
        return answer(*arguments)

    def noted(child: Child, ready: selectors.BaseSelector) -> None:
        reap(child, ready)
        reaped.append(child.pid)

    monkeypatch.setattr(forkserver, "fork", fork)
    monkeypatch.setattr(forkserver, "answer", accepted)
    monkeypatch.setattr(forkserver, "reap", noted)

    class Turning(selectors.DefaultSelector):
        """Looks at what is ready in turn, so that the third request hides nothing."""

        turn = 0

        def select(self, timeout: float | None = None) -> Any:
            found = super().select(timeout)
            self.turn += 1
            return found[self.turn % len(found) :] + found[: self.turn % len(found)]

    monkeypatch.setattr(selectors, "DefaultSelector", Turning)
    request = serve(listener, {})
    assert request is not None
    assert sorted(reaped) == sorted(pids)
    with first, third:
        assert first.recv(16) == str(pids[0]).encode()
        assert first.recv(16) == b"7"
    for file in request.files:
        os.close(file)
    os.close(closing)


def test_a_new_process_leads_a_group_and_holds_none_of_the_servers_files(
    ready: selectors.DefaultSelector, ends: Any
) -> None:
    ours, _ = ends
    reading, writing = os.pipe()
    file = os.open(os.devnull, os.O_RDONLY)
    other = socket.socket()
    ready.register(reading, selectors.EVENT_READ)
    ready.register(other, selectors.EVENT_READ)
    held = (reading, other.fileno(), ours.fileno(), ready.fileno(), file)
    pid = fork(ready, ours)
    if pid == 0:
        still = [os.path.exists(f"/proc/self/fd/{one}") for one in held]  # noqa: PTH110
        os._exit(10 + sum(still) if still[-1] and os.getpgid(0) == os.getpid() else 1)
    assert pid > 0
    assert os.getpgid(pid) == pid
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 11  # the last alone, which nobody had named
    other.close()
    for one in (reading, writing, file):
        os.close(one)


def test_a_process_takes_folder_files_and_environment(tmp_path: Path) -> None:
    outputs = [os.open(tmp_path / name, os.O_CREAT | os.O_WRONLY) for name in ("out", "err")]
    pid = os.fork()
    if pid == 0:
        enter(Request("book", [], {"ONLY": "this"}, str(tmp_path), outputs))
        os.write(1, f"{os.getcwd()} {dict(os.environ)} {os.read(0, 1)!r}".encode())  # noqa: PTH109
        os.write(2, str([os.path.exists(f"/proc/self/fd/{one}") for one in outputs]).encode())  # noqa: PTH110
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    for one in outputs:
        os.close(one)
    assert (tmp_path / "out").read_text() == f"{tmp_path} {{'ONLY': 'this'}} b''"
    assert (tmp_path / "err").read_text() == "[False, False]"


class Ended(Exception):
    pass


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the process is an exception with its code."""

    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(os, "_exit", end)


@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        (None, 0, ""),
        (SystemExit(3), 3, ""),
        (SystemExit(None), 0, ""),
        (SystemExit("words"), 1, ""),
        (ValueError("a fault"), 1, "ValueError: a fault"),
    ],
)
def test_a_command_ends_with_its_code(
    end: BaseException | None, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    called: list[list[str]] = []

    def main() -> None:
        called.append(sys.argv)
        if end:
            raise end

    monkeypatch.setattr(sys, "argv", ["before"])
    monkeypatch.setattr(importlib, "import_module", lambda _: SimpleNamespace(main=main))
    with pytest.raises(Ended) as found:
        become_book(Request("book", ["run", "a"], {}, "/", []))
    assert found.value.args == (code,)
    assert called == [["book", "run", "a"]]
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("backend", [None, "", "agg"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_libraries_are_imported_and_no_thread_is_left(
    threads: int, backend: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported: list[str] = []
    for number in range(threads):
        (tmp_path / str(number)).touch()
    monkeypatch.setenv("MPLBACKEND", backend or "")
    if backend is None:
        monkeypatch.delenv("MPLBACKEND")
    monkeypatch.setattr(forkserver, "Path", lambda _: tmp_path)
    monkeypatch.setattr(importlib, "import_module", imported.append)
    monkeypatch.setattr(gc, "freeze", lambda: imported.append("frozen"))
    if threads == 1:
        warm_up()
    else:
        with pytest.raises(RuntimeError, match=f"^{threads} threads after the imports"):
            warm_up()
    assert imported == [*forkserver.LIBRARIES, "frozen"]
    assert os.environ["MPLBACKEND"] == (backend or INLINE)


@pytest.mark.usefixtures("ended")
def test_the_server_clears_its_folder_away_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    monkeypatch.chdir(folder)  # the name of a socket may not be long
    done: list[str] = []
    monkeypatch.setattr(sys, "path", ["of this file", "kept"])
    monkeypatch.setattr(forkserver, "keep_priority", lambda: done.append("priority"))
    monkeypatch.setattr(forkserver, "warm_up", lambda: done.append("warm"))

    def serving(listener: socket.socket, environment: dict[str, str]) -> None:
        assert environment == dict(os.environ)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.connect("socket")
        done.append("served")

    monkeypatch.setattr(forkserver, "serve", serving)
    removed: list[Path] = []
    monkeypatch.setattr(forkserver.shutil, "rmtree", lambda path, **_: removed.append(path))
    with pytest.raises(Ended) as found:
        forkserver.main(Path())
    assert found.value.args == (0,)
    assert removed == [Path()]
    assert done == ["priority", "warm", "served"]
    assert sys.path == ["kept"]


@pytest.mark.parametrize("program", ["kernel", "book"])
def test_in_the_new_process_the_server_becomes_what_was_asked_for(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["of this file"])
    request = Request(program, [], {}, "/", [])
    done: list[Any] = []
    for name in ("keep_priority", "warm_up"):
        monkeypatch.setattr(forkserver, name, lambda: None)
    for name in ("enter", "become_kernel", "become_book"):
        monkeypatch.setattr(forkserver, name, lambda one, name=name: done.append((name, one)))
    monkeypatch.setattr(forkserver, "serve", lambda *_: request)
    forkserver.main(Path())
    assert done == [("enter", request), (f"become_{program}", request)]
    assert (tmp_path / "socket").exists()


def test_the_session_has_the_priority_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forkserver, "Path", lambda _: tmp_path / "autogroup")
    keep_priority()
    assert (tmp_path / "autogroup").read_text() == str(os.nice(0))
    monkeypatch.setattr(forkserver, "Path", lambda _: tmp_path / "none" / "autogroup")
    keep_priority()  # a system without such a file goes on
