"""Running one notebook: from its source to an executed copy and a record, or to a named failure and neither."""

import os
import re
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import papermill
import psutil
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NotebookExecutionManager

from bookpress.claims.record import Record, claims_in, commit_of, environment_in, figures_in, numbers_in, stray_claims
from bookpress.claims.registry import Registry
from bookpress.exits import OF_NOTEBOOK, Exit, Failure
from bookpress.files import digest_of_file, scratch_folder, write_whole
from bookpress.layout import LAPTOP, OWN_VARIABLE, PROFILE_VARIABLE, Layout
from bookpress.notebooks.dependencies import Dependencies
from bookpress.notebooks.kernels import ENVIRONMENT, KernelManager
from bookpress.notebooks.profile import Limits, settings_for
from bookpress.notebooks.source import Notebook
from bookpress.notebooks.values import checked

#: The kernel's use of the machine in an executed notebook's metadata: MiB of memory, seconds of the processor.
USE, MEMORY, PROCESSOR = "use", "memory_mb", "processor_seconds"

#: What one cell may put out: the largest figure of the book takes a quarter of it. Of an exception's text the
#: beginning is enough.
OUTPUT_BYTES = 4_000_000
ERROR_LETTERS = 4_000

#: The part of a run's time that one cell may take.
_OF_A_CELL = 0.8

_OUTPUTS = {"stream", "display_data", "execute_result", "update_display_data"}


class RunFailed(Failure):
    """A notebook did not run to its end. ``code`` says how it failed, the message where and why.

    ``executed`` is the notebook as far as it ran; None where it was not begun.
    """

    def __init__(self, code: Exit, message: str, executed: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.executed = executed


def run(
    notebook: str,
    parameters: dict[str, Any] | None = None,
    profile: str = LAPTOP,
    layout: Layout | None = None,
    output: Path | None = None,
) -> Record:
    """Run a notebook and keep its executed copy and record.

    They become the profile's, or with ``output`` a reader's own, with the record in a ``.json`` of the same name.

    Raises:
        RunFailed: the notebook ended early; the executed part is next to the output as ``.failed.ipynb``.
        SourceError, ProfileError: the notebook or the profile is not there, or cannot be read.
        ValueRefused: a parameter that there is not, or a value that does not fit it.
    """
    source = Notebook(notebook, layout or Layout.here())
    settings, given = settings_for(notebook, profile, source.layout), parameters or {}
    values = checked(source, settings.parameters | given)
    if output is not None:
        check_target(output, source.layout)
    of_profile = source.defaults | settings.parameters
    own = [name for name in given if values[name] != of_profile[name]]
    target = output or source.layout.executed(notebook, profile)
    executed, fields = run_for_record(source, values, settings, profile, target, own)
    claims = claims_in(executed)
    if source.layout.is_page(notebook) and (faults := stray_claims(notebook, claims, Registry.load(source.layout))):
        _write(target.with_suffix(".failed.ipynb"), executed)
        raise RunFailed(Exit.FAILED_CHECK, f"{notebook}: {'; '.join(faults)}")
    _write(target, executed)
    fields |= {"title": source.title, "profile": profile, "figures": figures_in(executed)}
    record = Record(claims=claims, executed=digest_of_file(target), **fields)
    record.write(target.with_suffix(".json"))
    return record


def run_for_record(
    notebook: Notebook, values: dict[str, Any], limits: Limits, profile: str, target: Path, own: list[str]
) -> tuple[NotebookNode, dict[str, Any]]:
    """Execute a notebook in a fresh kernel, with ``values`` for its parameters, ``own`` the reader's.

    A kernel that dies is given one more try. The kernel starts in the repository's root.

    Returns:
        The executed notebook, and what any record has of it: the fields of a ``RunRecord``.

    Raises:
        RunFailed: the notebook ended early; the executed part is next to ``target`` as ``.failed.ipynb``.
    """
    fingerprint = Dependencies(notebook.layout, profile).fingerprint(notebook)
    started = time.perf_counter()
    environment = ENVIRONMENT | {PROFILE_VARIABLE: profile, OWN_VARIABLE: ",".join(own)}
    for tries_left in (1, 0):
        try:
            executed = _run_cells(notebook, values, limits, environment)
        except RunFailed as failure:
            if failure.code is Exit.DEAD_KERNEL and tries_left:
                continue
            _write(target.with_suffix(".failed.ipynb"), failure.executed)
            raise
        break
    target.with_suffix(".failed.ipynb").unlink(missing_ok=True)
    return executed, {
        "notebook": notebook.name,
        "parameters": notebook.defaults | values,
        "numbers": numbers_in(executed),
        "fingerprint": fingerprint,
        "commit": commit_of(notebook.layout.root),
        "environment": environment_in(executed),
        "seconds": round(time.perf_counter() - started, 1),
    }


def check_target(output: Path, layout: Layout) -> None:
    """Refuse a path for a reader's own run that is the book's, or where nothing can be written, before the run.

    Raises:
        RunFailed: it does not end in ``.ipynb``, or is in a folder whose files the press makes or reads.
        OSError: it is a folder, or cannot be written.
    """
    if output.suffix != ".ipynb":
        raise RunFailed(Exit.USAGE, f"the output must be a file that ends in .ipynb, got '{output}'")
    kept = (layout.sources, layout.build, layout.book, layout.results, layout.packages)
    if folder := next((path for path in kept if output.resolve().is_relative_to(path.resolve())), None):
        raise RunFailed(Exit.USAGE, f"the output must be outside of the book's own {folder.name}/, got '{output}'")
    if output.is_dir():
        raise IsADirectoryError(21, "it is a folder", str(output))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=output.parent).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(output)) from error


def _run_cells(notebook: Notebook, values: dict[str, Any], limits: Limits, environment: dict[str, str]) -> NotebookNode:
    """Have papermill inject the parameters, and run all cells up to the first that fails.

    Raises:
        RunFailed: a cell failed, ran out of time or put out too much, or the kernel died.
    """
    prepared = papermill.execute_notebook(notebook.source, None, parameters=values, prepare_only=True)
    manager = NotebookExecutionManager(prepared, progress_bar=False)
    manager.notebook_start()
    with scratch_folder() as name:
        folder = Path(name)
        client = Client(manager, KernelManager(folder), limits)
        environment = os.environ | environment | _folders(notebook.layout, folder)
        try:
            client.execute(cleanup_kc=True, env=environment, cwd=str(notebook.layout.root))
        except (CellTimeoutError, RuntimeError) as error:
            raise _error_in(notebook.name, manager.nb) or client.explained(notebook.name, error) from error
    if failure := _error_in(notebook.name, manager.nb):
        raise failure
    executed: NotebookNode = manager.nb
    return executed


class Client(PapermillNotebookClient):
    """Runs cells and gives up on one whose output has no end, before it fills memory and disk."""

    km: Any
    task_poll_for_reply: Any

    def __init__(self, nb_man: NotebookExecutionManager, km: KernelManager, limits: Limits) -> None:
        deadline = time.monotonic() + 60 * limits.minutes
        super().__init__(
            nb_man,
            km,
            raise_on_iopub_timeout=False,
            timeout_func=lambda _: max(1.0, min(_OF_A_CELL * 60 * limits.minutes, deadline - time.monotonic())),
            startup_timeout=300,  # a machine may have other work
            shutdown_kernel="immediate",  # nothing is left to be done in it, and asked politely it takes its time
        )
        self._place, self._spent = "cell 0", 0

    def execute_cell(self, cell: NotebookNode, cell_index: int, **kwargs: Any) -> NotebookNode:
        """Run a cell, and count what it puts out and what its kernel uses."""
        self._place, self._spent = _place(cell_index + 1, cell), 0
        executed = super().execute_cell(cell, cell_index, **kwargs)
        self._note_use()
        return executed

    async def _async_poll_kernel_alive(self) -> None:
        with suppress(AssertionError):  # a watch that outlasts its kernel ends without a complaint that nobody awaits
            await super()._async_poll_kernel_alive()

    def explained(self, name: str, error: Exception) -> RunFailed:
        """The failure of a run that an error of the client ended."""
        code, cause = Exit.DEAD_KERNEL, str(error)
        if isinstance(error, CellTimeoutError):
            code, cause = Exit.TIME_OUT, "stopped at its time limit"
        elif self._spent > OUTPUT_BYTES:
            code, cause = Exit.FAILED_CELL, f"stopped after {OUTPUT_BYTES / 1e6:g} MB of output"
        elif isinstance(error, DeadKernelError):
            cause = "the kernel died (killed, or out of memory)"
        return RunFailed(code, f"{name}, {self._place}: {cause}", self.nb)

    def process_message(self, msg: dict[str, Any], *args: Any, **kwargs: Any) -> NotebookNode | None:
        """Count what a cell puts out; nothing but the end of the kernel interrupts it from this side."""
        if msg["msg_type"] in _OUTPUTS:
            self._spent += len(str(msg["content"]))
        if self._spent > OUTPUT_BYTES:
            self.task_poll_for_reply.cancel()
            return None
        if msg["msg_type"] == "error":
            content = msg["content"]
            content["evalue"] = _shortened(content["evalue"])
            content["traceback"] = [_shortened(line) for line in content["traceback"]]
        return super().process_message(msg, *args, **kwargs)

    def _note_use(self) -> None:
        """Keep with the notebook what its kernel has used of the machine, as far as the system says it."""
        pid, notes = getattr(self.km.provisioner, "pid", None), self.nb.metadata.setdefault(USE, {})
        with suppress(OSError):  # no such file system, or the kernel has gone
            if peak := re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text()):
                notes[MEMORY] = int(peak[1]) // 1024
        with suppress(psutil.Error):
            used = psutil.Process(pid).cpu_times()
            notes[PROCESSOR] = round(used.user + used.system, 2)


def _folders(layout: Layout, scratch: Path) -> dict[str, str]:
    """Folders of a kernel, in place of a reader's own with their settings, start-up files and histories."""
    return {
        "IPYTHONDIR": str(scratch / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(scratch),
        "MPLCONFIGDIR": str(layout.matplotlib),  # its list of fonts is made once
    }


def _shortened(text: str) -> str:
    return text if len(text) <= ERROR_LETTERS else f"{text[:ERROR_LETTERS]} ... ({len(text)} letters)"


def _write(path: Path, executed: NotebookNode) -> None:
    write_whole(path, nbformat.writes(clean(executed)) + "\n")


def clean(notebook: NotebookNode) -> NotebookNode:
    """Strip run-specific metadata: times, names of cells, what was used of the machine."""
    for key in ("papermill", USE, "jupytext"):
        notebook.metadata.pop(key, None)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        for key in ("execution", "papermill"):
            cell.metadata.pop(key, None)
    return notebook


def _error_in(name: str, executed: NotebookNode) -> RunFailed | None:
    """The error that a cell ended in, if one did; a kernel may report it in its output alone."""
    for number, cell in enumerate(executed.cells, start=1):
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                code = OF_NOTEBOOK.get(output["ename"], Exit.FAILED_CELL)
                message = f"{name}, {_place(number, cell)}: {output['ename']}: {output['evalue']}"
                return RunFailed(code, message, executed)
    return None


def _place(number: int, cell: NotebookNode) -> str:
    """A cell by its number and its first line."""
    first, *_ = cell.source.strip().splitlines() or [""]
    return f"cell {number} (`{first[:60]}`)"
