"""The cap on a cell's output, and what papermill's notes say of the machine, without a kernel."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from nbclient.exceptions import DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines

from bookpress.notebooks import capped
from bookpress.notebooks.capped import (
    CAPPED,
    MEMORY,
    OUTPUT_BYTES,
    PROCESSOR,
    CappedClient,
    CappedEngine,
    Flood,
    _saved_at_the_end,
)


class Task:
    cancelled = 0

    def cancel(self) -> None:
        self.cancelled += 1


class Bare(CappedClient):
    """Its kernel, notebook and task are given by hand."""

    km: Any = None
    nb: Any = None
    task_poll_for_reply: Any = None

    def __init__(self, pid: int | None = None) -> None:
        self.km = SimpleNamespace(provisioner=SimpleNamespace(pid=pid))
        self.nb = SimpleNamespace(metadata={"papermill": {}})
        self.task_poll_for_reply = Task()


@pytest.fixture
def passed_on(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The messages that reach papermill's own client."""
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(PapermillNotebookClient, "process_message", lambda _, msg, *rest: messages.append(msg))
    return messages


def message(characters: int, kind: str = "stream") -> dict[str, Any]:
    return {"msg_type": kind, "content": "y" * characters}


@pytest.mark.parametrize("kind", ["stream", "display_data", "execute_result", "update_display_data"])
def test_output_up_to_the_cap_is_kept_and_what_goes_over_it_ends_the_cell(
    kind: str, passed_on: list[dict[str, Any]]
) -> None:
    client = Bare()
    messages = [message(OUTPUT_BYTES - 1, kind), message(1, kind), message(1, kind)]
    for one in messages:
        client.process_message(one)
    assert passed_on == messages[:2]
    assert client.task_poll_for_reply.cancelled == 1


def test_what_is_no_output_is_not_counted(passed_on: list[dict[str, Any]]) -> None:
    client = Bare()
    client.process_message(message(2 * OUTPUT_BYTES, "status"))
    assert len(passed_on) == 1
    assert client.task_poll_for_reply.cancelled == 0


def run_cell(client: CappedClient, characters: int, monkeypatch: pytest.MonkeyPatch, dies: bool) -> Any:
    def execute(own: CappedClient, *arguments: Any, **named: Any) -> Any:
        own.process_message(message(characters))
        if dies:
            raise DeadKernelError("Kernel died")
        return arguments, named

    monkeypatch.setattr(PapermillNotebookClient, "process_message", lambda *_: None)
    monkeypatch.setattr(PapermillNotebookClient, "execute_cell", execute)
    return client.execute_cell("cell", index=3)


def test_a_flood_is_told_from_a_kernel_that_died(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Flood, match=r"^stopped after 4 MB of output$"):
        run_cell(Bare(), 4_000_001, monkeypatch, dies=True)
    with pytest.raises(DeadKernelError, match="Kernel died"):
        run_cell(Bare(), 4_000_000, monkeypatch, dies=True)


def test_every_cell_may_put_out_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Bare()
    for _ in range(3):
        assert run_cell(client, OUTPUT_BYTES, monkeypatch, dies=False) == (("cell",), {"index": 3})
    assert client.task_poll_for_reply.cancelled == 0


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="the system tells no such thing")
@pytest.mark.parametrize("dies", [False, True])
def test_the_notes_say_what_the_kernel_has_used(dies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    client, before = Bare(os.getpid()), sum(psutil.Process().cpu_times()[:2])
    try:
        run_cell(client, 1, monkeypatch, dies)
    except DeadKernelError:
        assert dies
    notes = client.nb.metadata["papermill"]
    assert before - 0.01 <= notes[PROCESSOR] <= sum(psutil.Process().cpu_times()[:2]) + 0.01
    assert notes[PROCESSOR] == round(notes[PROCESSOR], 2)
    now = psutil.Process().memory_info().rss / 2**20
    assert isinstance(notes[MEMORY], int)
    assert 0.5 * now < notes[MEMORY] < 20 * now


def test_the_memory_is_the_most_that_was_held_in_whole_mebibytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "status").write_text("Name:\tpython\nVmPeak:\t  9999999 kB\nVmHWM:\t  204799 kB\nVmRSS:\t 1024 kB\n")
    monkeypatch.setattr(capped, "Path", lambda _: tmp_path / "status")
    client = Bare(os.getpid())
    client._note_use()
    assert client.nb.metadata["papermill"][MEMORY] == 199
    (tmp_path / "status").write_text("Name:\tpython\n")
    client = Bare(os.getpid())
    client._note_use()
    assert list(client.nb.metadata["papermill"]) == [PROCESSOR]


def test_the_time_is_that_in_programs_and_in_the_system_to_a_hundredth(monkeypatch: pytest.MonkeyPatch) -> None:
    used = SimpleNamespace(cpu_times=lambda: SimpleNamespace(user=1.113, system=0.111, idle=9.0))
    monkeypatch.setattr(psutil, "Process", lambda _: used)
    client = Bare(1 << 23)
    client._note_use()
    assert client.nb.metadata["papermill"] == {PROCESSOR: 1.22}


def test_of_a_kernel_that_has_gone_nothing_is_noted() -> None:
    client = Bare(1 << 23)
    client._note_use()
    assert client.nb.metadata["papermill"] == {}


def test_a_notebook_is_saved_once_the_cells_have_ended() -> None:
    class Manager:
        saved = 0

        def save(self, **_: Any) -> None:
            self.saved += 1

    manager = Manager()
    with _saved_at_the_end(manager):
        manager.save(cell=1)
    assert manager.saved == 0
    with pytest.raises(ValueError, match="a cell fails"), _saved_at_the_end(manager):
        raise ValueError("a cell fails")
    manager.save()
    assert manager.saved == 1


def test_papermill_knows_the_engine_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert papermill_engines.get_engine(CAPPED) is CappedEngine
    assert issubclass(CappedEngine, NBClientEngine)
    made: list[Any] = []

    class Client:
        def __init__(self, manager: Any, **options: Any) -> None:
            made.append(options)

        def execute(self) -> str:
            return "executed"

    monkeypatch.setattr(capped, "CappedClient", Client)
    manager = SimpleNamespace()
    for options in ({"input_path": "a", "log_output": True, "start_timeout": 5, "timeout": 9}, {}):
        assert CappedEngine.execute_managed_notebook(manager, "python3", **options) == "executed"
    assert made == [
        {"kernel_name": "python3", "timeout": 9, "startup_timeout": 5, "shutdown_kernel": "immediate"},
        {"kernel_name": "python3", "startup_timeout": 60, "shutdown_kernel": "immediate"},
    ]
