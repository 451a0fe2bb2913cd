"""The points of a sweep on disk: one small record each, found by what was set and not by the name of its file."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from bookpress.claims.record import RecordError
from bookpress.claims.registry import Verdict
from bookpress.files import digest, write_whole
from bookpress.sweeps.sweep import DEVICE, Point, identity_of


class PointRecord(BaseModel):
    """What one point found: the numbers that it reported and the verdicts of its claims.

    A reported number is one value, or one for each of several draws. The numbers of two runs with one fingerprint on
    one machine are the same to the last bit; ``seconds`` (of a core on a CPU, of the clock elsewhere) and ``memory_mb``
    are of this run. ``seal`` is a hash of all the rest.
    """

    model_config = ConfigDict(ser_json_inf_nan="strings")

    notebook: str
    parameters: dict[str, Any]
    numbers: dict[str, float | int | bool | list[float]]
    verdicts: dict[str, Verdict]
    fingerprint: str
    commit: str
    environment: dict[str, str]
    seconds: float
    memory_mb: int | None = None

    @classmethod
    def read(cls, path: Path) -> "PointRecord":
        """Read one record.

        Raises:
            RecordError: the file is not a record, or not as it was written.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content.pop("seal", None) != digest(content):
                raise ValueError("its content is not what was written")
            return cls.model_validate(content)
        except (ValueError, AttributeError) as error:  # not UTF-8, not JSON, no object, not of the schema
            raise RecordError(f"{path.name} is damaged: {str(error).splitlines()[0]}") from error

    def write(self, path: Path) -> None:
        content = json.loads(self.model_dump_json())
        write_whole(path, json.dumps(content | {"seal": digest(content)}, indent=1, ensure_ascii=False) + "\n")

    @property
    def device(self) -> str:
        return self.environment.get(DEVICE, "CPU")


class Points:
    """The records in one folder. What is damaged counts as missing, and is named in ``damaged``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged: list[str] = []
        #: Records by the names of their parameters, and there by identity.
        self._found: dict[frozenset[str], dict[str, PointRecord]] = {}
        for path in sorted(folder.glob("*.json")):
            try:
                record = PointRecord.read(path)
            except RecordError as error:
                self.damaged.append(str(error))
                continue
            form = self._found.setdefault(frozenset(record.parameters), {})
            form[identity_of(record.notebook, record.parameters)] = record

    def of(self, point: Point, fingerprint: str | None = None) -> PointRecord | None:
        """The record of a point; with a fingerprint, only one of that code.

        A record made before the notebook had one of its parameters stands for the points that have it at its default.
        """
        for names, records in self._found.items():
            later = point.parameters.keys() - names - {DEVICE}
            if any(point.parameters[name] != point.defaults[name] for name in later):
                continue
            asked = {name: value for name, value in point.parameters.items() if name in names}
            record = records.get(identity_of(point.notebook, asked))
            if record is not None and fingerprint in (None, record.fingerprint):
                return record
        return None

    def path(self, point: Point) -> Path:
        return self.folder / f"{point.name}.json"


def done_and_missing(
    points: Iterable[Point], found: Points, fingerprint: str | None = None
) -> tuple[dict[str, PointRecord], list[Point]]:
    """The records there are, by the identity of their points, and the points without one."""
    done, missing = {}, []
    for point in points:
        record = found.of(point, fingerprint)
        if record is None:
            missing.append(point)
        else:
            done[point.identity] = record
    return done, missing
