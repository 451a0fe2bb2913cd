"""The command that asks a server for its process: what it asks for, and how the end of that process is told."""

import json
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bookpress.notebooks import client
from bookpress.notebooks.client import SERVER_VARIABLE, forked, main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands are forked on Linux alone")

Serve = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def folder() -> Iterator[Path]:
    """For a socket, whose whole name may not be long."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    """Answers one request with some messages, writes into the files that came with it, and hangs up."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        threads: list[threading.Thread] = []

        def start(*answers: bytes) -> list[dict[str, Any]]:
            asked: list[dict[str, Any]] = []

            def answer() -> None:
                connection, _ = listener.accept()
                connection.settimeout(10)  # whoever asks for nothing is hung up on
                with connection:
                    message, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
                    asked.append(json.loads(message))
                    for number, file in enumerate(files):
                        os.write(file, f"file {number}\n".encode())
                        os.close(file)
                    for one in answers:
                        connection.send(one)

            listener.bind(str(folder / "socket"))
            listener.listen(1)
            listener.settimeout(10)
            threads.append(threading.Thread(target=answer, daemon=True))
            threads[0].start()
            return asked

        yield start
        for thread in threads:
            thread.join(10)


def test_a_server_is_given_the_command_with_all_it_needs(
    folder: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OF_THE_READER", "7")
    asked = serve(b"1234", b"3")
    assert forked(str(folder), ["run", "a"]) == 3
    (request,) = asked
    assert (request["program"], request["arguments"], request["folder"]) == ("book", ["run", "a"], str(Path.cwd()))
    assert request["environment"]["OF_THE_READER"] == "7"
    said = capfd.readouterr()
    assert (said.out, said.err) == ("file 0\n", "file 1\n")


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([b"1234", b"0"], 0),
        ([b"1234", b"-15"], -15),
        ([b"1234"], -9),  # the server has ended, and with it the command
        ([], None),  # it would not start one
    ],
)
def test_the_end_of_a_command_is_told(folder: Path, serve: Serve, answers: list[bytes], code: int | None) -> None:
    serve(*answers)
    assert forked(str(folder), []) == code


@pytest.mark.parametrize("where", [None, "", "here"])
def test_without_a_server_there_is_no_answer(where: str | None, folder: Path) -> None:
    assert forked(where and str(folder), []) is None


@pytest.mark.parametrize(
    ("second", "code"), [(KeyboardInterrupt(), -2), (ConnectionResetError(), -9)], ids=["interrupted", "killed"]
)
def test_an_end_before_the_answer_is_told_as_a_signal(
    second: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    coming: list[Any] = [b"1234", second]

    class Connection:
        def __init__(self, *_: Any) -> None: ...
        def __enter__(self) -> "Connection":
            return self

        def __exit__(self, *_: object) -> None: ...
        def connect(self, _: str) -> None: ...
        def recv(self, _: int) -> bytes:
            if isinstance(one := coming.pop(0), BaseException):
                raise one
            return bytes(one)

    fake = SimpleNamespace(socket=Connection, AF_UNIX=1, SOCK_SEQPACKET=5, send_fds=lambda *_: None)
    monkeypatch.setattr(client, "socket", fake)
    assert forked("folder", []) == code


@pytest.mark.parametrize(("code", "told"), [(0, 0), (2, 2), (-2, 130), (-9, 137)])
def test_a_signal_is_told_as_a_shell_tells_it(code: int, told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "forked", lambda *_: code)
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("it becomes another program"))
    assert main([]) == told


def test_without_an_answer_it_becomes_the_ordinary_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class Became(Exception):
        pass

    def become(program: str, command: list[str]) -> None:
        raise Became(program, command)

    monkeypatch.delenv(SERVER_VARIABLE, raising=False)
    monkeypatch.setattr(os, "execv", become)
    with pytest.raises(Became) as found:
        main(["run", "a"])
    assert found.value.args == (sys.executable, [sys.executable, "-m", "bookpress", "run", "a"])
