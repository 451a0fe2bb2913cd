"""Snakemake in this process, on graphs of a few lines: what is printed, and how a run ends that something stopped."""

import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from bookpress.files import write_whole
from bookpress.graph.build import BuildError, the_only_build
from bookpress.graph.progress import reason_in
from bookpress.layout import Layout
from bookpress.notebooks.kernels import BUILDER_VARIABLE

#: Three jobs, of which each can be given its command; jobs announce themselves as those of the book do.
GRAPH = """\
COMMANDS = {
    "good": "sleep 0.2",
    "bad": "sleep 1; echo 'failed cell: demo/bad: it broke'; exit 5",
    "slow": "echo $BASHPID > pid; exec sleep 300",
}

onstart:
    logger.info("", extra={"needed": [job.message for job in workflow.dag.needrun_jobs()]})

rule one:
    output: "build/{name}"
    log: "build/{name}.log"
    message: "run {wildcards.name}"
    params: command=lambda wildcards: COMMANDS[wildcards.name]
    shell: "({params.command}) > {log:q} 2>&1 && touch {output:q}"
"""

RUN = """\
import sys
from bookpress.graph.build import BuildError, run_graph
from bookpress.layout import Layout
try:
    run_graph(Layout.here(), sys.argv[1:], "2")
except BuildError as error:
    sys.exit(f"not whole: {error}")
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Begin to run targets of the graph in a folder with a space, quotes and braces in its name."""
    root = tmp_path / "it's {a} book"
    write_whole(root / "Snakefile", GRAPH)
    monkeypatch.setenv("BOOKPRESS_ROOT", str(root))
    monkeypatch.chdir(root)

    def begin(*targets: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", RUN, *targets]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return begin


def ended(run: "subprocess.Popen[str]") -> list[str]:
    """The lines of a run that has ended, those of its display last."""
    out, err = run.communicate(timeout=60)
    print(out, err)
    return [*out.splitlines(), *err.splitlines()]


def slow_job() -> psutil.Process:
    """The job that sleeps, once it does."""
    pid = Path("pid")
    while not (pid.exists() and pid.read_text().strip()):
        time.sleep(0.05)
    return psutil.Process(int(pid.read_text()))


def test_outside_a_terminal_each_job_has_a_line_with_its_seconds(start: Start) -> None:
    lines = ended(start("build/good", "build/bad"))
    assert lines[0].startswith("jobs to run: 2, details in .snakemake/log/")
    assert lines[1].startswith("1 of 2: run good, ")
    why = "run bad: demo/bad: it broke (build/bad.log)"
    assert lines[2:] == [f"failed: {why}", f"not whole: 1 failed, what has finished is kept. {why}"]
    assert json.loads(Path("build/seconds.json").read_text())["run good"] >= 0.2
    assert ended(start("build/good")) == []


def test_a_folder_of_snakemake_that_takes_no_files_is_the_reason(start: Start) -> None:
    Path(".snakemake").symlink_to("/proc/self")
    lines = ended(start("build/good"))
    assert re.match("not whole: .*/.snakemake cannot be written: ", lines[-1])
    assert "Traceback" not in "".join(lines)


def test_the_first_fault_of_another_program_is_the_reason(tmp_path: Path) -> None:
    log = tmp_path / "site.log"
    log.write_text("(show_errors='no')\nindex.md: \x1b[31mWARNING\x1b[0m: a link leads nowhere\nERROR: stopped\n")
    assert reason_in(log) == f"index.md: WARNING: a link leads nowhere ({log})"
    log.write_text("reading\n")
    assert reason_in(log) == f"it did not come to its end (killed, or the machine stopped) ({log})"


def test_an_interrupt_of_this_process_alone_ends_its_jobs(start: Start) -> None:
    run = start("build/good", "build/slow")
    job = slow_job()
    run.send_signal(signal.SIGINT)
    lines = ended(run)
    assert lines[-1] == "KeyboardInterrupt"
    assert "interrupted: what has finished is kept, the same command goes on from here" in lines
    assert not any("failed" in line for line in lines)
    assert not job.is_running() or job.status() == psutil.STATUS_ZOMBIE  # its parent has gone


def test_a_job_that_is_killed_while_nobody_reads_ends_the_run(start: Start) -> None:
    run = start("build/slow")
    assert run.stderr
    assert run.stdout
    job = slow_job()
    run.stderr.close()
    run.stdout.close()
    job.kill()
    run.wait(timeout=60)


def test_a_display_in_a_terminal_says_how_many_are_done_and_what_runs(start: Start) -> None:
    Path("build").mkdir()
    Path("build/seconds.json").write_text('{"run good": 0.2, "run slow": 180}')
    terminal, run = start_in_terminal("build/good", "build/slow")
    job = slow_job()
    shown = ""
    while "1/2" not in shown:
        shown += os.read(terminal, 4096).decode()
    assert "run slow" in shown
    assert "3 min left" in shown
    os.write(terminal, b"\x03")
    with suppress(OSError):  # a terminal that nobody writes to any more
        while True:
            shown += os.read(terminal, 4096).decode()
    assert "interrupted: " in shown
    assert not job.is_running() or job.status() == psutil.STATUS_ZOMBIE  # its parent has gone
    assert run


def start_in_terminal(*targets: str) -> tuple[int, int]:
    """Begin to run targets in a terminal; the terminal, and the process."""
    process, terminal = pty.fork()
    if not process:
        os.environ["TERM"] = "xterm"
        os.environ["COLUMNS"] = "100"
        os.execv(sys.executable, [sys.executable, "-c", RUN, *targets])
    return terminal, process


def test_one_writer_at_a_time_has_the_book_and_what_it_starts_has_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(tmp_path)
    layout.build.mkdir()
    with (layout.build / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BuildError, match="another build of this book is running"), the_only_build(layout):
            pass
    with the_only_build(layout):
        monkeypatch.setenv(BUILDER_VARIABLE, str(os.getpid()))  # as the kernel server of a build does
        with the_only_build(layout):
            pass
