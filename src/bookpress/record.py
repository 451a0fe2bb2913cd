"""The record of one run: every value, and where it came from."""

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from pydantic import BaseModel, ConfigDict

from bookpress.evidence import CLAIM_MIME, FIGURE_MIME, Settled
from bookpress.files import write_whole


class Figure(BaseModel):
    """One figure of a notebook, without its picture."""

    name: str
    caption: str
    alt: str
    photo: bool
    data: list[dict[str, Any]]


class Record(BaseModel):
    """What one run of a notebook found.

    Two runs on a CPU with the same fingerprint agree in ``claims`` and ``figures`` to the last bit; ``seconds`` is the
    wall clock of the run, and ``commit`` the state of the repository it was made in.
    """

    model_config = ConfigDict(ser_json_inf_nan="strings")

    notebook: str
    title: str
    profile: str
    parameters: dict[str, Any]
    claims: list[Settled]
    figures: list[Figure]
    fingerprint: str
    commit: str
    environment: dict[str, str]
    seconds: float

    @classmethod
    def read(cls, path: Path) -> "Record":
        return cls.model_validate_json(path.read_text(encoding="utf-8"))

    def write(self, path: Path) -> None:
        write_whole(path, self.model_dump_json(indent=1) + "\n")


def outputs_of(notebook: NotebookNode, mime: str) -> list[dict[str, Any]]:
    """The payloads of one output type in an executed notebook, in order."""
    return [
        output["data"][mime]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if mime in output.get("data", {})
    ]


def claims_in(notebook: NotebookNode) -> list[Settled]:
    return [Settled.model_validate(payload["settled"]) for payload in outputs_of(notebook, CLAIM_MIME)]


def environment_in(notebook: NotebookNode) -> dict[str, str]:
    """What the notebook ran on, as its last verdict saw it."""
    payloads = outputs_of(notebook, CLAIM_MIME)
    return payloads[-1]["environment"] if payloads else {}


def figures_in(notebook: NotebookNode) -> list[Figure]:
    return [Figure.model_validate(payload) for payload in outputs_of(notebook, FIGURE_MIME)]
