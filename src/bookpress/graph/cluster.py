"""The ends of jobs on a SLURM cluster: whether they can be seen, and why SLURM itself ended one.

Snakemake's executor asks ``squeue``, which shows a finished job for as long as the cluster's ``MinJobAge`` says, or
``sacct``, which asks SLURM's database and answers only where there is one. A job whose end is not seen would be waited
for without end.
"""

import re
import shutil
import subprocess
from pathlib import Path

#: The executor's longest pause between two looks at the queue is 180 s, and a look may take 60 s.
_LONGEST_PAUSE = 240

#: How SLURM says in a job's log that the job outgrew its memory or its time, or was cancelled.
_ENDED = re.compile(r"^slurmstepd\S*: error: (.*)$", re.MULTILINE)


def blindness(status_command: str, first_pause: int) -> str | None:
    """Why the ends of jobs would not be seen here, in one line; None where they are.

    ``status_command`` and ``first_pause`` (seconds before the first look) are the executor's settings: it leaves
    ``squeue`` for ``sacct`` where finished jobs are forgotten before three such pauses are over.
    """
    from snakemake_executor_plugin_slurm.job_status_query import (
        get_min_job_age,
    )  # a second, which no job has to wait for

    if not shutil.which("sbatch"):
        return "no SLURM here: sbatch is not on the path; nothing was submitted"
    age = get_min_job_age()
    if age is None:
        return "SLURM does not answer here (scontrol show config); nothing was submitted"
    sees = {"squeue": age >= _LONGEST_PAUSE, "sacct": _has_accounts()}
    asked = "sacct" if shutil.which("sacct") and (status_command == "sacct" or age < 3 * first_pause) else "squeue"
    if sees[asked]:
        return None
    why = {
        "squeue": f"squeue forgets a finished job after {age} s (MinJobAge), {_LONGEST_PAUSE} s are needed",
        "sacct": "sacct has no database to ask (AccountingStorageType)",
    }
    usable = [f"--slurm-status-command {name} would see them" for name in sees if sees[name]]
    reasons = [why[asked], *(usable or [why[name] for name in sees if name != asked])]
    return f"the ends of jobs would not be seen here: {'; '.join(reasons)}; nothing was submitted"


def last_words(root: Path, rule: str, wildcards: str) -> str | None:
    """What SLURM wrote into the log of a job's last run when it ended it; None where it did not."""
    folder = root / ".snakemake" / "slurm_logs" / f"rule_{rule}" / wildcards.replace("/", "_")
    logs = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
    said = _ENDED.search(logs[-1].read_text(encoding="utf-8", errors="replace")) if logs else None
    return said[1].strip("* ") if said else None


def _has_accounts() -> bool:
    """Whether ``sacct`` answers; without a database, or while it is down, it ends in an error."""
    command = ["sacct", "--allocations", "--noheader", "--starttime", "now"]
    try:
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
