"""The command ``book``, forked from the kernel server where a build keeps one: it starts without its imports.

A program of its own (``python -S client.py ARGUMENTS``) that imports nothing but the standard library. Where no server
answers it becomes the ordinary command. When it is ended, the server ends the process that it asked for.
"""

import json
import os
import socket
import sys
from pathlib import Path

#: As in ``kernels.py``, which would take long to import.
SERVER_VARIABLE = "BOOK_KERNEL_SERVER"


def main(arguments: list[str]) -> int:
    code = forked(os.environ.get(SERVER_VARIABLE), arguments)
    if code is None:
        os.execv(sys.executable, [sys.executable, "-m", "bookpress", *arguments])
    return code if code >= 0 else 128 - code  # as a shell tells a signal


def forked(folder: str | None, arguments: list[str]) -> int | None:
    """The exit code of the command, or nothing where no server has answered."""
    if not folder:
        return None
    asked = {"program": "book", "arguments": arguments, "environment": dict(os.environ), "folder": str(Path.cwd())}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.connect(str(Path(folder, "socket")))
            socket.send_fds(connection, [json.dumps(asked).encode()], [1, 2])
            if not connection.recv(16):
                return None
        except OSError:
            return None
        try:
            return int(connection.recv(16) or -9)
        except OSError:  # the server has been killed, and with it the command
            return -9
        except KeyboardInterrupt:
            return -2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
