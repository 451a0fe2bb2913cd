"""A SLURM of one node that a test starts as a cluster's services would: munged, slurmctld and slurmd.

It has its own folder, ports and key, keeps no accounts, and kills a job that outgrows the memory it asked for.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "squeue", "sinfo")

_SECONDS_TO_START = 30.0

_CONFIGURATION = """\
ClusterName=toy
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
MinJobAge=300
KillWait=2
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=64000 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class SlurmCannotStart(Exception):
    """Programs are missing, the user is not root, or a service did not come up; the message says which."""


@contextmanager
def running_slurm(cpus: int = 2) -> Iterator[dict[str, str]]:
    """Run the services; gives the environment in which SLURM's commands speak to them.

    Raises:
        SlurmCannotStart: this machine cannot run them.
    """
    missing = [name for name in PROGRAMS if not shutil.which(name, path=_path())]
    if missing:
        raise SlurmCannotStart(f"not installed: {', '.join(missing)} (slurm-wlm and munge have them)")
    if os.geteuid() != 0:
        raise SlurmCannotStart("slurmd starts jobs as root alone")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True)))
        _write_configuration(folder, cpus)
        environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{folder}/bin:{_path()}"}
        for name, command in {
            "munged": [
                *("munged", "--foreground", "--force", f"--key-file={folder}/munge.key", "--num-threads=2"),
                *(f"--{kind}-file={folder}/munge.{kind}" for kind in ("pid", "seed", "log")),
                f"--socket={folder}/munge.socket",
            ],
            "slurmctld": ["slurmctld", "-D", "-i"],
            "slurmd": ["slurmd", "-D"],
        }.items():
            stack.enter_context(_service(command, environment, folder / f"{name}.out"))
            if name == "munged" and not _is_true_in_time((folder / "munge.socket").exists):
                raise SlurmCannotStart(f"no munge.socket: {_last_line(folder / 'munged.out')}")
        if not _is_true_in_time(lambda: _output(environment, "sinfo", "--noheader", "--format=%T") == "idle"):
            logs = "; ".join(f"{name}: {_last_line(folder / f'{name}.out')}" for name in ("slurmctld", "slurmd"))
            raise SlurmCannotStart(f"the node is not idle; {logs}")
        try:
            yield environment
        finally:
            _end_jobs(environment)


def _path() -> str:
    """Services lie where a user's path may not lead."""
    return os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])


def _write_configuration(folder: Path, cpus: int) -> None:
    for name in ("state", "spool", "bin"):
        (folder / name).mkdir()
    # Snakemake's job step drops the variables of SLURM from its environment, and would look for the machine's SLURM.
    step = folder / "bin" / "srun"
    step.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun", path=_path())} "$@"\n')
    step.chmod(0o755)
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))
    with socket.socket() as first, socket.socket() as second:
        for one in (first, second):
            one.bind(("127.0.0.1", 0))
        ports = {"controller_port": first.getsockname()[1], "node_port": second.getsockname()[1]}
    text = _CONFIGURATION.format(host=socket.gethostname().partition(".")[0], folder=folder, cpus=cpus, **ports)
    (folder / "slurm.conf").write_text(text)


@contextmanager
def _service(command: list[str], environment: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("w") as said, subprocess.Popen(command, env=environment, stdout=said, stderr=said) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def _is_true_in_time(condition: Callable[[], bool]) -> bool:
    """Whether a condition comes true within the time that services are given."""
    end = time.monotonic() + _SECONDS_TO_START
    while not (is_true := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return is_true


def _end_jobs(environment: dict[str, str]) -> None:
    """Cancel what runs, and leave the services the time to see it ended."""
    subprocess.run(["scancel", "--user=root"], env=environment, check=False)
    _is_true_in_time(lambda: not _output(environment, "squeue", "--noheader"))


def _output(environment: dict[str, str], *command: str) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n") if log.is_file() else []
    return next((line for line in reversed(lines) if line.strip()), "no word")
