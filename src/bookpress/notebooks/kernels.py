"""Kernels for the press: reached through files, and forked from a warm server where a build keeps one."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

from bookpress.notebooks import forkserver

#: Names the folder of the kernel server, for what a build starts.
SERVER_VARIABLE = "BOOK_KERNEL_SERVER"

#: What every kernel finds in its environment.
#: Small matrices run many times slower with threads that fight over two cores.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}

_SECONDS_TO_START = 120.0
_SECONDS_TO_END = 10.0


class IpcKernelManager(AsyncKernelManager):
    """Kernels reached through files in place of network ports, which parallel runs can take from each other.

    The files lie in the run's own folder: the default is a fixed name in the working directory.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.provisioner = ForkProvisioner(kernel_spec=self.kernel_spec, parent=self)

    def _transport_default(self) -> str:
        return "ipc"

    def _ip_default(self) -> str:
        return str(Path(os.environ["JUPYTER_RUNTIME_DIR"], "kernel"))


class ForkProvisioner(LocalProvisioner):
    """Has kernels forked where a server is at hand, and starts them in the ordinary way where none is."""

    process: Any = None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        folder = os.environ.get(SERVER_VARIABLE)
        forked = ask_for_kernel(Path(folder), cmd, kwargs["env"], kwargs.get("cwd")) if folder else None
        if forked is None:
            return await super().launch_kernel(cmd, **kwargs)
        self.process = forked
        self.pid = self.pgid = forked.pid
        self.cwd = kwargs.get("cwd") or Path.cwd()
        return self.connection_info


class ForkedKernel:
    """What a provisioner uses of :class:`subprocess.Popen`, for a process that is a child of the server."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._connection = connection

    def poll(self) -> int | None:
        """The exit code of a kernel that has ended. Without its server it has been killed."""
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            with suppress(ConnectionError):
                self.returncode = int(self._connection.recv(16) or -signal.SIGKILL)
            self.returncode = -signal.SIGKILL if self.returncode is None else self.returncode
            self._connection.close()
        return self.returncode

    def wait(self) -> int | None:
        while self.poll() is None:
            time.sleep(0.01)
        return self.returncode

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signum)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def ask_for_kernel(folder: Path, cmd: list[str], env: dict[str, str], cwd: Any = None) -> ForkedKernel | None:
    """A kernel forked by the server of ``folder``, or nothing where none answers or another program is asked for."""
    if cmd[:3] != [sys.executable, "-m", forkserver.LAUNCHER]:
        return None
    asked = json.dumps(
        {"program": "kernel", "arguments": cmd[3:], "environment": env, "folder": str(cwd or Path.cwd())}
    ).encode()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(_SECONDS_TO_START)
    try:
        connection.connect(str(folder / "socket"))
        socket.send_fds(connection, [asked], [1, 2])
        pid = int(connection.recv(16))
    except (OSError, ValueError):
        connection.close()
        return None
    return ForkedKernel(pid, connection)


def start_server(log: Path) -> None:
    """Keep a kernel server for as long as this process lives, and name it to what this process starts.

    A server that is killed is replaced; one that ends by itself, because it cannot work on this machine, is not, and
    kernels then start in the ordinary way. What it says goes to ``log``.
    """
    if sys.platform != "linux":
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="book-kernels-"))
    (folder / "builder").write_text(str(os.getpid()))
    os.environ.update(ENVIRONMENT)  # what is started from here is to fit the server
    os.environ[SERVER_VARIABLE] = str(folder)
    threading.Thread(target=_keep_server, args=(folder, log), daemon=True).start()


def _keep_server(folder: Path, log: Path) -> None:
    command = [sys.executable, forkserver.__file__, str(folder)]
    with log.open("w", encoding="utf-8") as said:
        while True:
            server = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,  # its end is open in this process alone, and closes with it
                stdout=said,
                stderr=said,
                env=os.environ | ENVIRONMENT,
                start_new_session=True,
            )
            if (code := server.wait()) >= 0:
                return
            print(f"the kernel server was ended by signal {-code} and is started again", file=said, flush=True)
            (folder / "socket").unlink(missing_ok=True)


def end_with_builder() -> None:
    """Interrupt this process when the build that started it has gone. Without a build it does nothing."""
    folder = os.environ.get(SERVER_VARIABLE)
    if folder and (builder := Path(folder, "builder")).is_file():
        with suppress(ProcessLookupError):
            end = os.pidfd_open(int(builder.read_text()))
            threading.Thread(target=_interrupt_at, args=(end,), daemon=True).start()


def _interrupt_at(end: int) -> None:
    select.select([end], [], [])
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_SECONDS_TO_END)
    os._exit(1)
