"""A papermill engine that gives up on a cell whose output has no end, before it fills memory and disk."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines

CAPPED = "capped"

#: What papermill's notes on a run say of its memory, in MiB, and of its time on the processor, whatever ran beside it.
MEMORY = "memory_mb"
PROCESSOR = "processor_seconds"

#: What one cell may put out: the largest figure of the book takes a quarter of it.
OUTPUT_BYTES = 4_000_000

_OUTPUTS = {"stream", "display_data", "execute_result", "update_display_data"}


class Flood(RuntimeError):
    """A cell put out more than a page could show."""


class CappedClient(PapermillNotebookClient):
    """Runs cells and counts what each puts out.

    Nothing but the end of the kernel interrupts a cell from this side, so a flood is told to the waiting task as one.

    Raises:
        Flood: a cell went over the cap.
    """

    _spent = 0

    def execute_cell(self, *args: Any, **kwargs: Any) -> NotebookNode:
        self._spent = 0
        try:
            return super().execute_cell(*args, **kwargs)
        except DeadKernelError:
            if self._spent > OUTPUT_BYTES:
                raise Flood(f"stopped after {OUTPUT_BYTES / 1e6:g} MB of output") from None
            raise
        finally:
            self._note_use()

    def _note_use(self) -> None:
        """Keep with the notebook what its kernel has used of the machine, as far as the system tells it."""
        pid, notes = getattr(self.km.provisioner, "pid", None), self.nb.metadata["papermill"]
        with suppress(OSError):  # no such file system, or the kernel has gone
            held = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
            if held:
                notes[MEMORY] = int(held[1]) // 1024
        with suppress(psutil.Error):
            used = psutil.Process(pid).cpu_times()
            notes[PROCESSOR] = round(used.user + used.system, 2)

    def process_message(self, msg: dict[str, Any], *args: Any, **kwargs: Any) -> NotebookNode | None:
        if msg["msg_type"] in _OUTPUTS:
            self._spent += len(str(msg["content"]))
        if self._spent > OUTPUT_BYTES:
            self.task_poll_for_reply.cancel()
            return None
        return super().process_message(msg, *args, **kwargs)


class CappedEngine(NBClientEngine):
    """Papermill's own engine, with the client above."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **kwargs: Any) -> NotebookNode:
        kwargs = {name: value for name, value in kwargs.items() if name not in ("input_path", "log_output")}
        kwargs["startup_timeout"] = kwargs.pop("start_timeout", 60)
        kwargs["shutdown_kernel"] = (
            "immediate"  # nothing is left to be done in it, and asked politely it takes its time
        )
        with _saved_at_the_end(nb_man):
            return CappedClient(nb_man, kernel_name=kernel_name, **kwargs).execute()


@contextmanager
def _saved_at_the_end(nb_man: Any) -> Iterator[None]:
    """Papermill writes the whole notebook twice a cell, pictures and all; once the cells have ended is enough.

    It does so then however they ended. Of a process that is killed nobody reads the file.
    """
    nb_man.save = lambda **_: None
    try:
        yield
    finally:
        del nb_man.save


papermill_engines.register(CAPPED, CappedEngine)
