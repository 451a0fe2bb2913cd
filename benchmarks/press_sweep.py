"""How soon a sweep of 1,000 points begins, and how busy it keeps the cores with points of ten seconds.

    python benchmarks/press_sweep.py

A point burns a fixed time of CPU and reports one number, so that the ideal is known: points times seconds over cores.
What is above it is the press: a kernel for each point, its record, the graph's bookkeeping. The share is taken between
the first record and the last, since what comes before the first is told apart; it needs an idle machine.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MANY, MOST_SECONDS_TO_BEGIN = 1000, 10.0
POINTS, SECONDS, LEAST_SHARE = 12, 10.0, 0.9

POINT = """\
# %% [markdown]
# # A point

# %%
import time

from bookpress import report
from attention_theory.validation import require

# %% tags=["parameters"]
wait = 0.0  # CPU seconds of work, at least 0
seed = 0  # tells points apart, at least 0

# %%
require(wait=(wait, 0.0, None), seed=(seed, 0, None))

# %%
end = time.process_time() + wait
while time.process_time() < end:
    pass
report(number=float(seed))
"""


def toy_book(folder: Path) -> Path:
    """A book of one notebook that makes one point."""
    (folder / "notebooks" / "toy" / "points").mkdir(parents=True)
    (folder / "notebooks" / "toy" / "points" / "point.py").write_text(POINT)
    for name in ("book/claims", "src"):
        (folder / name).mkdir(parents=True)
    shutil.copy(ROOT / "Snakefile", folder)
    return folder


def sweep(folder: Path, cores: int, *axes: str) -> "subprocess.Popen[bytes]":
    """``book sweep`` of the toy book, begun."""
    sources = os.pathsep.join([str(folder / "src"), str(ROOT / "src")])
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "BOOKPRESS_ROOT": str(folder), "PYTHONPATH": sources, "PATH": programs}
    command = [sys.executable, "-m", "bookpress.cli", "sweep", "toy/points/point", "--cores", str(cores), *axes]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
    )


def records(folder: Path) -> list[Path]:
    """The records of the points that are done."""
    return list(folder.glob("build/**/points/*.json"))


def seconds_to_begin(folder: Path, cores: int) -> float:
    """Wall seconds from the command to the record of the first of many points."""
    begin = time.perf_counter()
    running = sweep(folder, cores, "-p", f"seed=0..{MANY - 1}")
    while not records(folder) and running.poll() is None:
        time.sleep(0.02)
    taken = time.perf_counter() - begin
    os.killpg(running.pid, 15)
    running.wait()
    return taken


def share_of_the_ideal(folder: Path, cores: int) -> float:
    """The ideal time of the points after the first round over the time that they took."""
    code = sweep(folder, cores, "-p", f"wait={SECONDS}", "-p", f"seed=0..{POINTS - 1}").wait()
    ends = sorted(path.stat().st_mtime for path in records(folder))
    if code or len(ends) != POINTS:
        raise SystemExit(f"the sweep ended with exit code {code} and {len(ends)} of {POINTS} points")
    return (POINTS - cores) * SECONDS / cores / (ends[-1] - ends[cores - 1])


def main() -> int:
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        begun = seconds_to_begin(toy_book(Path(folder)), cores)
    print(f"{MANY} points: the first is made after {begun:.1f} s (at most {MOST_SECONDS_TO_BEGIN:.0f})")
    with tempfile.TemporaryDirectory() as folder:
        share = share_of_the_ideal(toy_book(Path(folder)), cores)
    print(f"points of {SECONDS:.0f} s on {cores} cores: {share:.0%} of the ideal (at least {LEAST_SHARE:.0%})")
    return 0 if begun <= MOST_SECONDS_TO_BEGIN and share >= LEAST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
