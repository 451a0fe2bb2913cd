"""Kernels of the press: reached through files, free of a reader's own settings, forked from a warm server in a build.

A build keeps one process that has imported the libraries, the server: this file as a program, ``python kernels.py
FOLDER``. For each kernel it forks a guard, which forks the kernel and kills it with all that it started when the run,
or the server, has gone. The server ends with the build and imports nothing of ``src``, so that every kernel reads the
present code. Elsewhere than on Linux, and where no server answers, kernels are started in the ordinary way.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

#: Name the folder of the kernel server, and the process of the build, to what a build starts.
SERVER_VARIABLE = "BOOK_KERNEL_SERVER"
BUILDER_VARIABLE = "BOOK_BUILDER"

#: Variables of every kernel: one thread, because small matrices are many times slower on threads that fight over two
#: cores; the same hashes and sums in every run; none of a reader's own files.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "PYTHONSTARTUP": "",
    "MATPLOTLIBRC": "",
}

#: Libraries that the server imports: those of the packages and notebooks, and of a kernel itself.
LIBRARIES = (
    "ipykernel.kernelapp",
    "jaxtyping",
    "matplotlib.pyplot",
    "pydantic.main",  # which "pydantic" alone leaves for later
    "scipy.optimize",
    "scipy.stats",
    "sklearn.datasets",
    "torch",
    "torch._dynamo",  # which the first optimiser of a page imports, for a second
    "yaml",
)

_LAUNCHER = "ipykernel_launcher"
_SOCKET = "server"


class KernelManager(AsyncKernelManager):
    """Manages a kernel of this interpreter, reached through files in ``folder``.

    Parallel runs can take network ports from each other. A kernel that the reader has installed under the same name is
    not the book's.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(transport="ipc", ip=str(folder / "kernel"), connection_file=str(folder / "kernel.json"))
        argv = [sys.executable, "-m", _LAUNCHER, "-f", "{connection_file}"]
        self._kernel_spec = KernelSpec(argv=argv, display_name="Python 3", language="python")
        self.provisioner = ForkProvisioner(kernel_spec=self.kernel_spec, parent=self)


class ForkProvisioner(LocalProvisioner):
    """Has the kernel forked where a server answers, and starts it in the ordinary way where none does."""

    process: Any = None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        folder = kwargs.get("cwd") or str(Path.cwd())
        try:
            self.process = ForkedKernel(arguments=cmd[3:], environment=kwargs["env"], folder=folder)
        except (KeyError, OSError, ValueError):  # there is no server, or it does not answer
            return await super().launch_kernel(cmd, **kwargs)
        self.pid = self.pgid = self.process.pid
        return self.connection_info


class ForkedKernel:
    """A kernel that the server of this build has forked, with the part of :class:`subprocess.Popen` that is used of it.

    Raises:
        KeyError: there is no server.
        OSError, ValueError: it does not answer.
    """

    stdin = stdout = stderr = returncode = None

    def __init__(self, **request: Any) -> None:
        self._guard = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._guard.settimeout(300.0)  # the first waits until the libraries are imported
        self._guard.connect(str(Path(os.environ[SERVER_VARIABLE], _SOCKET)))
        self._guard.sendall(json.dumps(request).encode() + b"\n")
        self.pid = int(self._guard.recv(16))

    def poll(self) -> int | None:
        """A code once the guard has closed the connection, because the kernel has ended."""
        return -signal.SIGKILL if select.select([self._guard], [], [], 0)[0] else None

    wait = poll  # a provisioner waits for what has ended

    def send_signal(self, signum: int = signal.SIGKILL) -> None:
        os.kill(self.pid, signum)

    kill = terminate = send_signal


def start_server(log: Path, matplotlib: Path) -> None:
    """Keep a kernel server for as long as this process lives, and name it to what this process starts.

    What it says goes to ``log``. ``matplotlib`` is the folder of that library's settings, for it and its kernels.
    """
    from bookpress.files import scratch_folder  # not in the server, which knows nothing of src

    if sys.platform != "linux":
        return
    scratch = scratch_folder()
    folder = Path(scratch.name)
    atexit.register(scratch.cleanup)
    os.environ.update(ENVIRONMENT)  # what is started from here is to fit the server
    os.environ[SERVER_VARIABLE], os.environ[BUILDER_VARIABLE] = str(folder), str(os.getpid())
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        server = subprocess.Popen(
            [sys.executable, __file__, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=os.environ | {"MPLCONFIGDIR": str(matplotlib)},
            process_group=0,  # so that an interrupt from the terminal reaches the runs alone
        )
    while not (folder / _SOCKET).exists() and server.poll() is None:
        time.sleep(0.01)


def end_with_builder() -> None:
    """End this process when the build that started it has gone. Without a build it does nothing."""

    def wait() -> None:
        with suppress(ProcessLookupError):  # it has gone already
            select.select([os.pidfd_open(int(os.environ[BUILDER_VARIABLE]))], [], [])
        os.kill(os.getpid(), signal.SIGTERM)

    if BUILDER_VARIABLE in os.environ:
        threading.Thread(target=wait, daemon=True).start()


class _Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """Forks a guard for each request, until the build that started it has gone."""

    request_queue_size = 64
    max_children = 1024

    def __init__(self, folder: Path) -> None:
        self.builder = os.getppid()
        super().__init__(str(folder / f".{_SOCKET}"), _Guard)
        Path(str(self.server_address)).rename(folder / _SOCKET)  # a client that sees it can connect

    def service_actions(self) -> None:
        super().service_actions()
        if os.getppid() != self.builder:
            os._exit(0)  # the guards see it


class _Guard(socketserver.StreamRequestHandler):
    """Forks a kernel, says its process, and kills it when the run or the server has gone."""

    server: _Server

    def handle(self) -> None:
        server = os.pidfd_open(os.getppid())
        request = json.loads(self.rfile.readline())
        self.server.socket.close()
        kernel = os.fork()
        if kernel == 0:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with its guard
            os.setpgid(0, 0)
            _become_kernel(**request)
        with suppress(PermissionError, ProcessLookupError):  # on both sides: neither can run ahead of it
            os.setpgid(kernel, kernel)
        with suppress(OSError):  # nobody may wait for it any more
            self.wfile.write(str(kernel).encode())
        select.select([os.pidfd_open(kernel), server, self.connection], [], [])
        os.killpg(kernel, signal.SIGKILL)  # what it has started too
        os.waitpid(kernel, 0)


def _become_kernel(arguments: list[str], environment: dict[str, str], folder: str) -> NoReturn:
    """Do what ``python -m ipykernel_launcher`` does, in the state that a new interpreter would be in."""
    import numpy
    import torch
    from ipykernel.kernelapp import launch_new_instance

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    importlib.invalidate_caches()
    numpy.random.seed()  # noqa: NPY002, the shared generator is meant; Python's own sees to itself after a fork
    torch.default_generator.seed()
    sys.argv = [f"{_LAUNCHER}.py", *arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
    launch_new_instance()
    atexit._run_exitfuncs()
    os._exit(0)  # taking the libraries apart object by object would take a second


def _serve(folder: Path) -> None:
    """Import the libraries, as a kernel would, and serve until the build has gone."""
    del sys.path[0]  # the folder of this file, which an ordinary kernel does not have there
    with _Server(folder) as server:  # requests wait from here on
        # matplotlib reads its backend when it is imported; this is the one that a kernel chooses where none is set
        os.environ["MPLBACKEND"] = os.environ.get("MPLBACKEND") or "module://matplotlib_inline.backend_inline"
        for name in LIBRARIES:
            importlib.import_module(name)
        gc.freeze()  # the kernels share these objects' memory for as long as no collection goes through them
        if (threads := len([*Path("/proc/self/task").iterdir()])) != 1:
            raise RuntimeError(f"{threads} threads after the imports; kernels can be forked from one only")
        server.serve_forever()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
