"""The graph on a SLURM cluster: each run a job, every end seen, what is missing run again and nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bookpress.graph.build import why_ends_are_unseen
from bookpress.graph.progress import last_words
from bookpress.notebooks.kernels import SERVER_VARIABLE
from slurm_service import SlurmCannotStart, running_slurm

ROOT = Path(__file__).resolve().parents[3]
PROFILE = ROOT / "workflow" / "profiles" / "slurm"
Edit = Callable[[Path, str, str], None]


@pytest.fixture(scope="module")
def slurm() -> Iterator[dict[str, str]]:
    try:
        with running_slurm() as environment:
            yield environment
    except SlurmCannotStart as why:
        pytest.skip(f"no SLURM here: {why}")


@pytest.fixture
def book(toy: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("Snakefile", "_config.yml"):
        shutil.copy(ROOT / name, toy.layout.root)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.delenv(SERVER_VARIABLE)  # the kernel of a job counts towards its memory
    toy.add("good")
    return toy


def submit(book: Any, environment: dict[str, str], *options: str) -> "subprocess.CompletedProcess[str]":
    """README's command in the toy book, with short pauses between two looks at the queue."""
    command = [sys.executable, "-m", "snakemake", "notebooks", "--workflow-profile", str(PROFILE)]
    command += ["--config", "profile=laptop", "--slurm-init-seconds-before-status-checks", "1", *options]
    ours = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "BOOKPRESS_ROOT")}
    ours["PATH"] = os.pathsep.join([environment["PATH"], ours["PATH"]])
    done = subprocess.run(
        command, cwd=book.layout.root, env=environment | ours, capture_output=True, text=True, check=False
    )
    print(done.stdout, done.stderr)
    return done


def ran(done: "subprocess.CompletedProcess[str]") -> set[str]:
    return set(re.findall(r"\brun demo/(\w+)$", done.stdout + done.stderr, flags=re.MULTILINE))


#: What a point comes to, by its n, for as long as the variable says so.
SICK = {"2": "fails", "3": "memory", "5": "cancelled"}
POINTS = 5

_ILLNESS = """\
ill = json.loads(os.environ.get("SICK", "{}")).get(str(n), ill)
if ill == "cancelled":
    open("waiting", "w").close()
    time.sleep(600)
if ill == "fails":"""


@pytest.fixture
def sweep(book: Any, edit: Edit, tmp_path: Path) -> list[str]:
    """The command for a sweep of points of 1700 MB, with a profile in which a user has set a shorter pause."""
    book.add_point()
    path = book.layout.source("demo/points/point")
    edit(path, "import os\n", "import json\nimport os\n")
    edit(path, 'if ill == "fails":', _ILLNESS)
    book.layout.profiles.mkdir()
    (book.layout.profiles / "full.yaml").write_text("demo/points/point: {memory_mb: 1700, minutes: 15}\n")
    profile = tmp_path / "profile"
    shutil.copytree(PROFILE, profile)
    edit(profile / "config.yaml", "status-checks: 20", "status-checks: 1")
    axis = f"n={','.join(str(n) for n in range(1, POINTS + 1))}"
    options = ["--profile", "full", "--workflow-profile", str(profile)]
    return [sys.executable, "-m", "bookpress.cli", "sweep", "demo/points/point", "-p", axis, *options]


@pytest.mark.slow
def test_points_that_end_badly_are_named_and_they_alone_are_made_again(
    book: Any, sweep: list[str], slurm: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = book.layout.root
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm[name])
    records = book.layout.sweep("demo/points/point") / "points"
    sick = os.environ | {"SICK": json.dumps(SICK)}
    first = subprocess.Popen(sweep, cwd=root, env=sick, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not (root / "waiting").exists() and first.poll() is None:
        time.sleep(0.2)
    cancel("00004 RUNNING")  # the fifth point
    said, _ = first.communicate(timeout=600)
    print(said)
    assert first.returncode == 1
    assert {path.stem for path in records.glob("*.json")} == {
        f"n={n}" for n in range(1, POINTS + 1) if str(n) not in SICK
    }
    assert said.splitlines()[-1].endswith("3 failed, the other points are kept: n=2, n=3, n=5")
    for why in ("ValueError: it fails", "memory limit", "CANCELLED AT"):
        assert why in " ".join(said.split())

    made = {path: path.stat().st_mtime_ns for path in records.glob("*.json")}
    second = subprocess.run(sweep, cwd=root, capture_output=True, text=True, check=False)
    print(second.stdout, second.stderr)
    assert second.returncode == 0
    assert "2 of 5 points are there, 3 to be made" in second.stdout
    assert {path: path.stat().st_mtime_ns for path in made} == made
    assert len(list(records.glob("*.json"))) == POINTS


def cancel(suffix: str) -> None:
    """End the one job whose comment, which names its wildcards, and state end in this."""
    queue = subprocess.run(["squeue", "--noheader", "--format=%i %k %T"], capture_output=True, text=True, check=True)
    (job,) = [line.split()[0] for line in queue.stdout.splitlines() if line.endswith(suffix)]
    subprocess.run(["scancel", job], check=True)


#: A cluster in words: how long it remembers a finished job, and whether it has a database.
Fake = Callable[[int | None, bool], dict[str, str]]


@pytest.fixture
def fake(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Programs in the place of SLURM's; ``sbatch`` notes what it is asked for and refuses it."""

    def commands(min_job_age: int | None, accounts: bool) -> dict[str, str]:
        folder = tmp_path_factory.mktemp("slurm")
        scripts = {
            "scontrol": "exit 1" if min_job_age is None else f"echo 'MinJobAge               = {min_job_age} sec'",
            "sacct": "exit 0" if accounts else "echo Slurm accounting storage is disabled >&2; exit 1",
            "sbatch": f'echo "$@" >> {folder}/submitted; echo no room >&2; exit 1',
            "squeue": "exit 0",
            "sinfo": "exit 0",
        }
        for name, script in scripts.items():
            path = folder / name
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
        monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))
        return {"folder": str(folder), **os.environ}

    return commands


@pytest.mark.parametrize(
    ("min_job_age", "accounts", "asked", "words"),
    [
        (300, False, "squeue", None),
        (5, True, "squeue", None),  # the executor turns to sacct by itself
        (300, False, "sacct", "sacct has no database to ask (AccountingStorageType)"),
        (120, True, "squeue", "squeue forgets a finished job after 120 s (MinJobAge), 240 s are needed"),
        (5, False, "squeue", "sacct has no database to ask (AccountingStorageType)"),
        (None, True, "squeue", "SLURM does not answer here"),
    ],
)
def test_a_cluster_on_which_ends_would_not_be_seen_is_told_why(
    fake: Fake, min_job_age: int | None, accounts: bool, asked: str, words: str | None
) -> None:
    fake(min_job_age, accounts)
    told = why_ends_are_unseen(asked, first_pause=20)
    assert (told is None) if words is None else (words in str(told) and "\n" not in str(told))


def test_nothing_is_submitted_where_ends_would_not_be_seen(book: Any, fake: Fake) -> None:
    environment = fake(5, False)
    done = submit(book, environment)
    assert done.returncode == 1
    assert len(re.findall("the ends of jobs would not be seen here", done.stdout + done.stderr)) == 1
    assert not (Path(environment["folder"]) / "submitted").exists()
    assert "Traceback" not in done.stdout + done.stderr


def test_a_job_asks_for_what_its_description_says_and_a_refusal_ends_it(book: Any, fake: Fake) -> None:
    book.layout.profiles.mkdir()
    (book.layout.profiles / "full.yaml").write_text("demo/good: {gpu: true, minutes: 30, memory_mb: 900}\n")
    environment = fake(300, False)
    done = submit(book, environment, "--config", "profile=full")
    assert done.returncode == 1
    assert "no room" in done.stderr
    assert "failed: demo/good: " in done.stderr
    (asked,) = (Path(environment["folder"]) / "submitted").read_text().splitlines()
    for wanted in ("--gpus=1", "--mem 900", "-t 35", "--cpus-per-task=1"):
        assert wanted in asked


def test_what_slurm_said_at_the_end_of_a_job_is_found_in_its_newest_log(tmp_path: Path) -> None:
    folder = tmp_path / ".snakemake" / "slurm_logs" / "rule_notebook" / "demo_good"
    folder.mkdir(parents=True)
    assert last_words(tmp_path, "notebook", "demo/good") is None
    (folder / "1.log").write_text("slurmstepd-node: error: *** STEP 1.0 ON node CANCELLED DUE TO TIME LIMIT ***\n")
    os.utime(folder / "1.log", (1, 1))
    assert last_words(tmp_path, "notebook", "demo/good") == "STEP 1.0 ON node CANCELLED DUE TO TIME LIMIT"
    (folder / "2.log").write_text("a notebook's own words\n")
    assert last_words(tmp_path, "notebook", "demo/good") is None
