"""Numbers that a notebook reports for a sweep to gather."""

import json
import re
from typing import Any

from pydantic import BaseModel, ConfigDict

from bookpress.claims.evidence import format_number
from bookpress.claims.provenance import environment

#: The output type under which reported numbers travel in an executed notebook.
REPORT_MIME = "application/vnd.bookpress.report+json"

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Reported(BaseModel):
    """Numbers by name, each one value or one for each of several draws, and what they were found on."""

    model_config = ConfigDict(ser_json_inf_nan="strings")

    numbers: dict[str, float | int | bool | list[float]]
    environment: dict[str, str]


def report(**numbers: Any) -> None:
    """Say what a run found, by name, for the table and the picture of a sweep.

    A number may be a list: one value for each of several draws of one point. Tensors and arrays are taken as numbers
    and lists.

    Raises:
        ValueError: nothing is reported, a name is not of lower-case letters, digits and underscores, a list is empty,
            or a value is not a number.
    """
    from IPython.display import display  # a notebook has loaded it, the command line does without

    if not numbers:
        raise ValueError("report() takes at least one number by name, report(loss=0.3)")
    plain = {name: _plain(name, value) for name, value in numbers.items()}
    rows = [f"| {name} | {_said(value)} |" for name, value in plain.items()]
    text = "\n".join(["| number | value |", "| --- | --- |", *rows])
    payload = json.loads(Reported(numbers=plain, environment=environment()).model_dump_json())
    display({"text/markdown": text, "text/plain": text, REPORT_MIME: payload}, raw=True)


def _plain(name: str, value: Any) -> Any:
    if not _NAME.fullmatch(name):
        raise ValueError(f"the name of a number is of lower-case letters, digits and underscores, got {name!r}")
    value = value.tolist() if hasattr(value, "tolist") else value
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values or not all(isinstance(one, int | float) for one in values):
        raise ValueError(f"{name} has to be a number or a list of numbers, got {value!r}")
    return [float(one) for one in values] if isinstance(value, list | tuple) else value


def _said(value: Any) -> str:
    return ", ".join(format_number(one) for one in (value if isinstance(value, list) else [value]))
