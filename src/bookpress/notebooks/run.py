"""Running one notebook: from its source to an executed copy and a record, or to a named failure and neither."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError

from bookpress.claims.provenance import OWN_VARIABLE, commit_of
from bookpress.claims.record import Record, claims_in, environment_in, figures_in, numbers_in, stray_claims
from bookpress.claims.registry import Registry
from bookpress.files import digest_of_file, scratch_folder, write_whole
from bookpress.layout import LAPTOP, PROFILE_VARIABLE, Layout
from bookpress.notebooks.capped import CAPPED, Flood
from bookpress.notebooks.dependencies import Reach
from bookpress.notebooks.kernels import ENVIRONMENT, IpcKernelManager
from bookpress.notebooks.profile import Settings, settings_for
from bookpress.notebooks.source import Notebook


class Exit(IntEnum):
    """How a command ended; the exit code of ``book``."""

    DONE = 0
    NOT_WHOLE = 1
    USAGE = 2
    BAD_PARAMETER = 3
    FAILED_CHECK = 4
    FAILED_CELL = 5
    TIME_OUT = 6
    DEAD_KERNEL = 7
    BAD_REGISTRY = 8
    BAD_FILE = 9


#: Exceptions that a notebook may end in, by the name that reaches us from its kernel.
_BY_NAME = {
    "ParameterError": Exit.BAD_PARAMETER,
    "FailedCheck": Exit.FAILED_CHECK,
    "EvidenceError": Exit.FAILED_CHECK,
    "RegistryError": Exit.BAD_REGISTRY,
}


class RunFailed(Exception):
    """A notebook did not run to its end. ``code`` says how it failed, the message where and why."""

    def __init__(self, code: Exit, message: str) -> None:
        super().__init__(message)
        self.code = code


def run(
    notebook: str,
    parameters: dict[str, Any] | None = None,
    profile: str = LAPTOP,
    layout: Layout | None = None,
    output: Path | None = None,
) -> Record:
    """Run a notebook and keep what it found.

    Without ``parameters`` the executed copy and the record become the profile's; with them the run is a reader's own
    and goes to ``output`` alone, with its record beside it. Both files are renamed into place when they are whole.

    Raises:
        RunFailed: the notebook ended early; the executed part lies beside the output as ``.failed.ipynb``.
    """
    source = Notebook(notebook, layout or Layout.here())
    settings = settings_for(notebook, profile, source.layout)
    values = settings.parameters | (parameters or {})
    known = source.parameters
    unknown = sorted(values.keys() - {one.name for one in known})
    if unknown:
        names = ", ".join(one.name for one in known)
        raise RunFailed(Exit.BAD_PARAMETER, f"{notebook} has no parameter {unknown[0]!r}; it has: {names}")
    of_profile = {one.name: one.default for one in known} | settings.parameters
    own = [name for name, value in (parameters or {}).items() if value != of_profile[name]]
    fingerprint = Reach(source.layout, profile).fingerprint(source)
    target = output or source.layout.executed(notebook, profile)
    started = time.perf_counter()
    executed = execute(source, values, settings, profile, target, own)
    registry = Registry.load(source.layout)
    if source.layout.is_page(notebook) and (faults := stray_claims(notebook, claims_in(executed), registry)):
        _keep_failed(target, executed)
        raise RunFailed(Exit.FAILED_CHECK, f"{notebook}: {'; '.join(faults)}")
    write_whole(target, nbformat.writes(clean(executed)) + "\n")
    record = Record(
        notebook=notebook,
        title=source.title,
        profile=profile,
        parameters={one.name: one.default for one in known} | values,
        claims=claims_in(executed),
        figures=figures_in(executed),
        numbers=numbers_in(executed),
        fingerprint=fingerprint,
        commit=commit_of(source.layout.root),
        environment=environment_in(executed),
        seconds=round(time.perf_counter() - started, 1),
        executed=digest_of_file(target),
    )
    record.write(target.with_suffix(".json"))
    return record


def execute(
    notebook: Notebook, values: dict[str, Any], settings: Settings, profile: str, target: Path, own: list[str]
) -> NotebookNode:
    """Execute a notebook in a fresh kernel, with ``values`` for its parameters, of which ``own`` are the reader's.

    A kernel that dies is given one more try. The kernel starts in the repository's root, as under plain papermill.

    Raises:
        RunFailed: the notebook ended early; the executed part lies beside ``target`` as ``.failed.ipynb``.
    """
    try:
        executed = _attempt(notebook, values, settings, profile, target, own)
    except RunFailed as failure:
        if failure.code is not Exit.DEAD_KERNEL:
            raise
        executed = _attempt(notebook, values, settings, profile, target, own)
    target.with_suffix(".failed.ipynb").unlink(missing_ok=True)
    return executed


def _attempt(
    notebook: Notebook, values: dict[str, Any], settings: Settings, profile: str, target: Path, own: list[str]
) -> NotebookNode:
    deadline = time.monotonic() + 60 * settings.minutes

    def seconds_for(_: NotebookNode) -> float:
        return max(1.0, min(60 * settings.cell_minutes, deadline - time.monotonic()))

    with scratch_folder() as folder, _environment(profile, folder, own):
        prepared, running = Path(folder, "source.ipynb"), Path(folder, "running.ipynb")
        jupytext.write(notebook.source, prepared, fmt="ipynb")
        try:
            papermill.execute_notebook(
                str(prepared),
                str(running),
                parameters=values,
                engine_name=CAPPED,
                progress_bar=False,
                log_output=False,
                timeout_func=seconds_for,
                record_timing=False,
                kernel_manager_class=IpcKernelManager,
            )
            executed = nbformat.read(running, as_version=4)
            failure = _silent_failure(notebook.name, executed)
        except (PapermillExecutionError, CellTimeoutError, RuntimeError) as error:
            failure = _explain(notebook.name, error, running)
            executed = nbformat.read(running, as_version=4) if running.is_file() else notebook.source
    if failure:
        _keep_failed(target, executed)
        raise failure
    return executed


def _keep_failed(target: Path, executed: NotebookNode) -> None:
    write_whole(target.with_suffix(".failed.ipynb"), nbformat.writes(clean(executed)) + "\n")


@contextmanager
def _environment(profile: str, runtime: str, own: list[str]) -> Iterator[None]:
    """What a kernel is to find in its environment, for as long as the run lasts."""
    before = dict(os.environ)
    told = {PROFILE_VARIABLE: profile, OWN_VARIABLE: ",".join(own)}
    os.environ.update(ENVIRONMENT, JUPYTER_RUNTIME_DIR=runtime, **told)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def clean(notebook: NotebookNode) -> NotebookNode:
    """Strip what differs between two runs and says nothing: times, paths, papermill's own cells and notes."""
    notebook.metadata.pop("papermill", None)
    notebook.cells = [
        cell for cell in notebook.cells if "papermill-error-cell-tag" not in cell.metadata.get("tags", [])
    ]
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
    return notebook


def _silent_failure(name: str, executed: NotebookNode) -> RunFailed | None:
    """An error output in a notebook that came back as a success."""
    for number, cell in enumerate(executed.cells, start=1):
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                return _failed_in(name, number, cell, output["ename"], output["evalue"])
    return None


def _explain(name: str, error: Exception, running: Path) -> RunFailed:
    executed = nbformat.read(running, as_version=4) if running.is_file() else None
    if isinstance(error, PapermillExecutionError) and executed is not None:
        found = _silent_failure(name, clean(executed))
        return found or RunFailed(Exit.FAILED_CELL, f"{name}: {error.ename}: {error.evalue}")
    number, cell = _last_started(executed)
    place = f"{name}, cell {number}" + (f" (`{_first_line(cell)}`)" if cell is not None else "")
    if isinstance(error, CellTimeoutError):
        return RunFailed(Exit.TIME_OUT, f"{place}: stopped at its time limit")
    if isinstance(error, Flood):
        return RunFailed(Exit.FAILED_CELL, f"{place}: {error}")
    cause = "the kernel died (killed, or out of memory)" if isinstance(error, DeadKernelError) else str(error)
    return RunFailed(Exit.DEAD_KERNEL, f"{place}: {cause}")


def _last_started(executed: NotebookNode | None) -> tuple[int, NotebookNode | None]:
    """The cell that was running: the last one for which papermill noted a start."""
    numbered = list(enumerate(executed.cells if executed else [], start=1))
    started = [(number, cell) for number, cell in numbered if _was_started(cell)]
    return started[-1] if started else (0, None)


def _was_started(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and bool(cell.metadata.get("papermill", {}).get("start_time"))


def _failed_in(name: str, number: int, cell: NotebookNode, ename: str, evalue: str) -> RunFailed:
    code = _BY_NAME.get(ename, Exit.FAILED_CELL)
    return RunFailed(code, f"{name}, cell {number} (`{_first_line(cell)}`): {ename}: {evalue}")


def _first_line(cell: NotebookNode) -> str:
    return next((line for line in cell.source.splitlines() if line.strip()), "")[:60]
