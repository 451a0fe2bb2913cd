"""A server that runs tests and notebooks: it has imported the libraries once, and every run begins without them.

A program of its own (``python mutant_tests.py LIBRARIES``) that imports nothing of ``src`` before a run, so that each
meets the code as it is on disk at that time. A request is a line of JSON on standard input, with ``arguments`` for
pytest or the file of a ``notebook``, the ``seconds`` of a processor that it may take, the file for its ``output``, and
whether what it imports may be ``kept`` compiled. The answer is a line too: the exit code, which is ``-SIGXCPU`` where
these seconds were used up, or ``null`` for a run that only waited.
Linux alone has what this needs.
"""

import importlib
import json
import os
import resource
import runpy
import select
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

#: The settings of hypothesis that pytest is to load.
PROFILE = "first-failure"

#: A run that waits takes no processor: it ends after so many times its seconds by the clock, on a busy machine too.
PATIENCE = 4


def main() -> None:
    """Serve until standard input closes."""
    del sys.path[0]  # the folder of this file
    os.environ["MPLBACKEND"] = "agg"
    for name in sys.argv[1:]:
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


def run(request: dict[str, Any]) -> int | None:
    """Fork, and wait for the new process for as long as it may take; it leads a group, and none of it is left."""
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        become(request)
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)
    end = os.pidfd_open(pid)
    in_time = bool(select.select([end], [], [], PATIENCE * request["seconds"])[0])
    os.close(end)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) if in_time else None


def become(request: dict[str, Any]) -> None:
    """Run what was asked for and end."""
    with Path(request["output"]).open("wb") as output, Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], resource.RLIM_INFINITY))
    if not request["kept"]:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    code: object = 1
    try:
        if "notebook" in request:
            run_page(request["notebook"])
            code = 0
        else:
            import hypothesis
            import pytest

            phases = [
                hypothesis.Phase.explicit,
                hypothesis.Phase.generate,
            ]  # one failure is enough, the least not asked
            hypothesis.settings.register_profile(PROFILE, deadline=None, database=None, phases=phases)
            code = int(pytest.main(request["arguments"]))
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 1)


def run_page(file: str) -> None:
    """Run a notebook to its end, and hold what it found against the values that are kept, as the book's tests do.

    On a machine that the file of values does not name, labels alone are compared.

    Raises:
        AssertionError: it found something else; the message says what.
    """
    import IPython.display

    shown: list[Any] = []
    IPython.display.display = lambda *objects, **_: shown.extend(objects)
    runpy.run_path(file, run_name="__main__")

    from bookpress.claims.evidence import CLAIM_MIME, Settled
    from bookpress.claims.record import Record
    from bookpress.laptop_values import differences
    from bookpress.layout import Layout

    if found := [one[CLAIM_MIME] for one in shown if CLAIM_MIME in one]:
        record = Record.model_construct(
            notebook=Path(file).relative_to("notebooks").with_suffix("").as_posix(),
            claims=[Settled.model_validate(one["settled"]) for one in found],
            environment=found[-1]["environment"],
        )
        faults = differences(Layout.here(), record)
        assert not faults, "\n".join(faults)


if __name__ == "__main__":
    main()
