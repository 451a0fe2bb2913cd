"""The record of one run: every value, and the machine, the versions and the commit that it came from."""

import json
import os
import platform
import subprocess
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict

from bookpress.claims.evidence import CLAIM_MIME, FIGURE_MIME, REPORT_MIME, Reported, Settled
from bookpress.claims.registry import Registry, Verdict
from bookpress.exits import Exit, Failure
from bookpress.files import digest, digest_of_file, write_whole
from bookpress.layout import Layout

if TYPE_CHECKING:
    from nbformat import NotebookNode

#: The device of a run that placed nothing on an accelerator.
_CPU = "CPU"


class RecordError(Failure, code=Exit.BAD_FILE):
    """A record, or the executed notebook that belongs to it, is damaged; the message names the file."""


class Figure(BaseModel):
    """One figure of a notebook, without its picture."""

    name: str
    caption: str
    alt: str
    photo: bool
    data: list[dict[str, Any]]


class RunRecord(BaseModel):
    """What the record of any run has. Its file ends in a seal, a hash of all the rest; one cut short does not match it.

    ``numbers`` are those that the notebook reported, each one value or one for each of several draws. ``seconds`` are
    of this run, and ``commit`` is the state of the repository it was made in.
    """

    model_config = ConfigDict(ser_json_inf_nan="strings")

    notebook: str
    parameters: dict[str, Any]
    numbers: dict[str, float | int | bool | list[float]] = {}
    fingerprint: str
    commit: str
    environment: dict[str, str]
    seconds: float

    @property
    def device(self) -> str:
        """The name of the device."""
        return self.environment.get("device", _CPU)

    @property
    def on_cpu(self) -> bool:
        """Whether nothing of the run was on an accelerator."""
        return self.device == _CPU

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read one record.

        Raises:
            RecordError: the file is not a record, or not as it was written.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(content, dict):
                raise ValueError("it is no record")
            if content.pop("seal", None) != digest(content):
                raise ValueError("its content is not what was written")
            return cls.model_validate(content)
        except ValueError as error:  # not UTF-8, not JSON, not of the schema
            raise RecordError(f"{path.name} is damaged: {str(error).splitlines()[0]}") from error

    def write(self, path: Path) -> None:
        """Write the record whole, with its seal."""
        content = json.loads(self.model_dump_json())
        write_whole(path, json.dumps(content | {"seal": digest(content)}, indent=1, ensure_ascii=False) + "\n")


class Record(RunRecord):
    """What one run of a notebook found.

    Two runs on a CPU with the same fingerprint agree in ``claims`` and ``figures`` to the last bit. ``executed`` is the
    hash of the executed notebook.
    """

    title: str
    profile: str
    claims: list[Settled]
    figures: list[Figure]
    executed: str = ""

    @classmethod
    def of(cls, layout: Layout, notebook: str, profile: str) -> "Record | None":
        """What the last run of a notebook found, or nothing where it has not run.

        Raises:
            RecordError: the record or the executed notebook is damaged.
        """
        path, executed = layout.record(notebook, profile), layout.executed(notebook, profile)
        if not (path.is_file() and executed.is_file()):
            return None
        record = cls.read(path)
        if record.executed != digest_of_file(executed):
            raise RecordError(f"{executed.name} is damaged: its content is not what was written")
        return record


def stray_claims(notebook: str, claims: list[Settled], registry: Registry) -> list[str]:
    """What is wrong with the claims that a notebook settled, by the registry: one line for each fault.

    One that is expected 'not run' may be left out: what it needs is not here.
    """
    own = registry.of_notebook(notebook)
    due = [claim for claim, entry in own.items() if entry.expected is not Verdict.NOT_RUN]
    settled = Counter(claim.claim for claim in claims)
    if not settled:
        return ["it settles no claim: none was closed by verdict()"]
    faults = [f"it settles {claim} twice" for claim, count in settled.items() if count > 1]
    faults += [f"it settles {claim}, which the registry does not give to it" for claim in settled if claim not in own]
    faults += [f"it leaves {claim} out, which the registry gives to it" for claim in due if claim not in settled]
    return faults


def outputs_of(notebook: "NotebookNode", mime: str) -> list[dict[str, Any]]:
    """The payloads of one output type in an executed notebook, in order."""
    return [
        output["data"][mime]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if mime in output.get("data", {})
    ]


def claims_in(notebook: "NotebookNode") -> list[Settled]:
    return [Settled.model_validate(payload["settled"]) for payload in outputs_of(notebook, CLAIM_MIME)]


def environment_in(notebook: "NotebookNode") -> dict[str, str]:
    """What the notebook ran on, as its last verdict saw it, or where there is none its last report."""
    payloads = outputs_of(notebook, CLAIM_MIME) or outputs_of(notebook, REPORT_MIME)
    return payloads[-1]["environment"] if payloads else {}


def numbers_in(notebook: "NotebookNode") -> dict[str, float | int | bool | list[float]]:
    """What the notebook has reported, by name; the last word counts."""
    payloads = [Reported.model_validate(payload) for payload in outputs_of(notebook, REPORT_MIME)]
    return {name: value for report in payloads for name, value in report.numbers.items()}


def figures_in(notebook: "NotebookNode") -> list[Figure]:
    return [Figure.model_validate(payload) for payload in outputs_of(notebook, FIGURE_MIME)]


def environment() -> dict[str, str]:
    """Versions and device of this process. A GPU counts only once something has been placed on it."""
    torch = sys.modules.get("torch")
    on_gpu = torch is not None and torch.cuda.is_initialized()
    return {
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name() if torch is not None and on_gpu else _CPU,
        "torch": version("torch"),
        "numpy": version("numpy"),
        "processor": processor(),
    }


def processor() -> str:
    """The kind of processor, which decides in which order libraries sum, and so the last digits of what they find."""
    path = Path("/proc/cpuinfo")
    if not path.is_file():
        return platform.processor() or platform.machine()
    lines = (line.partition(":") for line in path.read_text(encoding="utf-8").partition("\n\n")[0].splitlines())
    fields = {name.strip(): value.strip() for name, _, value in lines}
    kept = [name for name in ("cpu family", "model") if name in fields]
    numbers = ", ".join(f"{name.removeprefix('cpu ')} {fields[name]}" for name in kept)
    name = fields.get("model name", platform.machine())
    return f"{name} ({numbers})" if numbers else name


def commit_of(root: Path) -> str:
    """The commit that is checked out in ``root``, marked where the tree differs from it; empty where it is unknown.

    A repository around the root is another one, and so is that of a hook of git which has started this process.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "--git-dir", str(root / ".git"), "--work-tree", str(root), "describe", "--always", "--dirty"]
    command += ["--abbrev=12", "--match", "no-tag"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=own, cwd=root)
    return done.stdout.strip() if done.returncode == 0 else ""
