"""The ends of jobs on a SLURM cluster: whether they can be seen, and why SLURM itself ended one."""

import re
import shutil
import subprocess
from pathlib import Path

#: The executor's longest pause between two looks at the queue is 180 s, and a look may take 60 s.
_LONGEST_PAUSE = 240

#: SLURM's words in a job's log when the job outgrew its memory or its time, or was cancelled.
_ENDED = re.compile(r"^slurmstepd\S*: error: (.*)$", re.MULTILINE)


def blindness(status_command: str, first_pause: int) -> str | None:
    """Why the executor would wait without end for jobs that have ended, in one line; None where it sees their ends.

    It asks ``squeue``, which forgets a finished job after ``MinJobAge`` seconds. Where that is less than three times
    ``first_pause``, or where ``status_command`` says so, it asks ``sacct``, which needs a database.
    """
    from snakemake_executor_plugin_slurm.job_status_query import get_min_job_age  # a second, which no job waits for

    if not shutil.which("sbatch"):
        return "no SLURM here: sbatch is not on the path; nothing was submitted"
    age = get_min_job_age()
    if age is None:
        return "SLURM does not answer here (scontrol show config); nothing was submitted"
    if shutil.which("sacct") and (status_command == "sacct" or age < 3 * first_pause):
        why = None if _has_accounts() else "sacct has no database to ask (AccountingStorageType)"
    else:
        forgets = f"squeue forgets a finished job after {age} s (MinJobAge), {_LONGEST_PAUSE} s are needed"
        why = forgets if age < _LONGEST_PAUSE else None
    return why and f"the ends of jobs would not be seen here: {why}; --slurm-status-command takes squeue or sacct"


def last_words(root: Path, rule: str, wildcards: str) -> str | None:
    """SLURM's reason for ending a job's last run, from the job's log; None where it did not end it."""
    folder = root / ".snakemake" / "slurm_logs" / f"rule_{rule}" / wildcards.replace("/", "_")
    logs = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
    ended = _ENDED.search(logs[-1].read_text(encoding="utf-8", errors="replace")) if logs else None
    return ended[1].strip("* ") if ended else None


def _has_accounts() -> bool:
    command = ["sacct", "--allocations", "--noheader", "--starttime", "now"]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
