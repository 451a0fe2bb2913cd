"""A server that forks kernels and commands: it has imported the libraries once, so that these start without it.

A program of its own (``python forkserver.py FOLDER``) that imports nothing of ``src``: what an edit can change is read
afresh by every process. A request is one message: a kernel's or a command's arguments, its environment and working
directory as JSON, with the two files its output goes to. The answers are the new process's id, and its exit code once
it has ended. ``client.py`` asks for commands.

The server ends when its standard input closes, that is with the process that started it, and takes its kernels along.
A kernel also ends with the connection it was asked for by. Linux alone has what this needs.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

#: What the book's packages and notebooks import from elsewhere, and what a kernel itself is made of.
LIBRARIES = (
    "IPython",
    "grimp",
    "ipykernel.ipkernel",
    "ipykernel.kernelapp",
    "jaxtyping",
    "jupytext",
    "matplotlib.pyplot",
    "numpy",
    "papermill",
    "psutil",
    "pydantic.main",  # which "pydantic" alone leaves for later
    "rich.console",
    "rich.table",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.datasets",
    "threadpoolctl",
    "torch",
    "torch._dynamo",  # which the first optimiser of a page imports, for a second
    "typer",
    "yaml",
)

#: Variables that the interpreter and the libraries read once: a kernel that needs others cannot be forked from here.
READ_ONCE = ("PYTHON", "OMP_", "MKL_", "ATEN_", "OPENBLAS_", "KMP_", "TORCH", "MPL", "LD_")

#: The module that a kernel's command runs (``python -m ipykernel_launcher ...``).
LAUNCHER = "ipykernel_launcher"

#: matplotlib reads its backend when it is imported. This is the one that a kernel chooses where none is set.
INLINE = "module://matplotlib_inline.backend_inline"

LARGEST_REQUEST = 1 << 20
SECONDS_FOR_A_REQUEST = 5.0
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Request:
    """A process to be: its arguments, environment, folder, output and errors.

    A ``program`` is a kernel, whose arguments follow ``-m ipykernel_launcher``, or a command, whose follow ``book``.
    """

    program: Literal["kernel", "book"]
    arguments: list[str]
    environment: dict[str, str]
    folder: str
    files: list[int]


@dataclass(frozen=True)
class Child:
    """A kernel that runs: its process, what becomes readable when it ends, and the connection that asked for it."""

    pid: int
    end: int
    connection: socket.socket

    def kill(self) -> None:
        """Kill the kernel and what it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def main(folder: Path) -> None:
    """Import the libraries and serve on ``folder/socket``; in a forked process, be the kernel that was asked for."""
    del sys.path[0]  # the folder of this file, which an ordinary kernel does not have there
    environment = dict(os.environ)
    keep_priority()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen(64)
        warm_up()
        request = serve(listener, environment)
        if request is None:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(0)
    enter(request)
    become_kernel(request) if request.program == "kernel" else become_book(request)


def keep_priority() -> None:
    """Keep the share of this session, by which Linux divides a processor first, as low as that of its processes."""
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(os.nice(0)))


def warm_up() -> None:
    """Import the libraries, as a kernel would.

    Raises:
        RuntimeError: one of them has started a thread, which a fork would leave behind.
    """
    if not os.environ.get("MPLBACKEND"):
        os.environ["MPLBACKEND"] = INLINE
    for name in LIBRARIES:
        importlib.import_module(name)
    sys.modules["nbformat"].v4.new_markdown_cell("")  # makes what notebooks are validated by, a tenth of a second
    gc.freeze()  # the kernels share these objects' memory for as long as no collection goes through them
    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads != 1:
        raise RuntimeError(f"{threads} threads after the imports; kernels can be forked from one only")


def serve(listener: socket.socket, environment: dict[str, str]) -> Request | None:
    """Fork a kernel for every request. In a kernel the request comes back, in the server nothing, at its end."""
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    ready.register(sys.stdin, selectors.EVENT_READ)
    while True:
        key, _ = ready.select()[0]  # one at a time: what is done about it may undo the others
        if key.fileobj is sys.stdin:
            for child in {key.data for key in ready.get_map().values() if key.data}:
                child.kill()
            return None
        if key.fileobj is listener:
            if (request := answer(listener, environment, ready)) is not None:
                return request
        elif key.fd == key.data.end:
            reap(key.data, ready)
        else:  # the other side has gone: nobody waits for this kernel any more
            ready.unregister(key.fileobj)
            key.data.kill()


def answer(listener: socket.socket, environment: dict[str, str], ready: selectors.BaseSelector) -> Request | None:
    """Take one request and fork. In the kernel the request comes back, in the server nothing."""
    connection, _ = listener.accept()
    connection.settimeout(SECONDS_FOR_A_REQUEST)
    files: list[int] = []
    try:
        message, files, _, _ = socket.recv_fds(connection, LARGEST_REQUEST, 2)
        request = Request(**json.loads(message), files=files)
        refuse_other_settings(request.environment, environment)
        pid = fork(ready, connection)
    except (OSError, ValueError, TypeError) as error:  # whoever asked starts a kernel without us
        print(f"no kernel: {error}", file=sys.stderr, flush=True)
        connection.close()
    else:
        if pid == 0:
            return request
        child = Child(pid, os.pidfd_open(pid), connection)
        ready.register(child.end, selectors.EVENT_READ, child)
        ready.register(connection, selectors.EVENT_READ, child)
        with suppress(OSError):
            connection.send(str(pid).encode())
    for file in files:
        os.close(file)
    return None


def refuse_other_settings(asked: dict[str, str], here: dict[str, str]) -> None:
    """A kernel is to find the settings under which the libraries were imported.

    Raises:
        ValueError: the request has others.
    """
    for name in sorted(asked.keys() | here.keys()):
        if name.startswith(READ_ONCE) and asked.get(name) != here.get(name):
            raise ValueError(f"{name} is {here.get(name)!r} here and {asked.get(name)!r} in the request")


def fork(ready: selectors.BaseSelector, connection: socket.socket) -> int:
    """Fork; the new process leads a group of its own, dies with the server and holds none of its files."""
    server = os.getpid()
    pid = os.fork()
    with suppress(PermissionError, ProcessLookupError):  # on both sides: neither can run ahead of it
        os.setpgid(pid, pid)
    if pid == 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        for file in [key.fileobj for key in ready.get_map().values()]:
            if isinstance(file, int):
                os.close(file)
            elif isinstance(file, socket.socket):
                file.close()
        ready.close()
        connection.close()
    return pid


def reap(child: Child, ready: selectors.BaseSelector) -> None:
    """A kernel has ended: end what it left running, and tell its exit code."""
    child.kill()
    _, status = os.waitpid(child.pid, 0)
    ready.unregister(child.end)
    os.close(child.end)
    with suppress(KeyError):
        ready.unregister(child.connection)
    with suppress(OSError):
        child.connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    child.connection.close()


def enter(request: Request) -> None:
    """Take the request's folder, files and environment."""
    os.chdir(request.folder)
    with Path(os.devnull).open("rb") as nothing:
        for target, source in enumerate([nothing.fileno(), *request.files]):
            os.dup2(source, target)
    for file in request.files:
        os.close(file)
    os.environ.clear()
    os.environ.update(request.environment)
    importlib.invalidate_caches()


def become_kernel(request: Request) -> None:
    """Do what ``python -m ipykernel_launcher`` does, in the state that a new interpreter would be in."""
    import numpy
    import torch
    from ipykernel.kernelapp import launch_new_instance

    numpy.random.seed()  # noqa: NPY002, the shared generator is meant; Python's own sees to itself after a fork
    torch.default_generator.seed()
    sys.argv = [f"{LAUNCHER}.py", *request.arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
    launch_new_instance()
    atexit._run_exitfuncs()
    os._exit(0)  # taking the libraries apart object by object would take a second


def become_book(request: Request) -> None:
    """Do what the command ``book`` does."""
    sys.argv = ["book", *request.arguments]
    code: object = 1
    try:
        importlib.import_module("bookpress.cli").main()
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 1 if code else 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
