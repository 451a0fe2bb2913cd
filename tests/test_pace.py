"""The measurement that an accelerator makes first: with little installed, taken up where it was left."""

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from attention_theory.memorization.printed_grid import printed_panels

ROOT = Path(__file__).parents[1]

#: What the project needs elsewhere, and a machine with torch, numpy and jaxtyping may lack.
ABSENT = ["IPython", "beartype", "bookpress", "grimp", "jupytext", "matplotlib", "nbformat", "papermill", "pydantic"]
ABSENT += ["scipy", "sklearn", "typer", "yaml"]

MACHINE = {
    "device": f"CPU ({platform.machine()}), one core",
    "models_side_by_side": 1,
    "steps_timed": 1,
    "torch": torch.__version__.partition("+")[0],
    "float32_products": "highest",
}


def measure(*arguments: str, absent: list[str] = ABSENT) -> subprocess.CompletedProcess[str]:
    """Run the script where some libraries are not to be had."""
    script = ROOT / "benchmarks" / "memorization_pace.py"
    code = f"import runpy, sys; sys.modules.update(dict.fromkeys({absent!r})); sys.argv = {[script.name, *arguments]!r}"
    code += f"; runpy.run_path({str(script)!r}, run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def kept(path: Path, panels: list[str], **changes: Any) -> Path:
    rows = [{"panel": name, "model_steps_a_second": 1.0} for name in panels]
    path.write_text(json.dumps(MACHINE | changes | {"panels": rows}))
    return path


def test_it_measures_what_is_missing_and_nothing_else(tmp_path: Path) -> None:
    names = [panel.name for panel in printed_panels()]
    result = kept(tmp_path / "pace.json", [name for name in names if name != "Figure 3"])
    done = measure(str(result), "--steps", "1")
    assert done.returncode == 0, done.stderr
    paces = {one["panel"]: one["model_steps_a_second"] for one in json.loads(result.read_text())["panels"]}
    assert paces.keys() == set(names)
    assert paces.pop("Figure 3") > 0
    assert set(paces.values()) == {1.0}


def test_it_stops_in_time_and_does_not_write_over_another_measurement(tmp_path: Path) -> None:
    late = measure(str(kept(tmp_path / "begun.json", [])), "--steps", "1", "--hours", "0")
    assert late.returncode == 1
    assert late.stderr.startswith("the time is over before Figure 2(a)")
    other = kept(tmp_path / "other.json", [], steps_timed=300)
    before = other.read_text()
    refused = measure(str(other), "--steps", "1")
    assert "was measured otherwise" in refused.stderr
    assert other.read_text() == before


def test_what_is_missing_is_named_in_one_line(tmp_path: Path) -> None:
    lacking = measure(absent=[*ABSENT, "jaxtyping"])
    assert lacking.returncode == 1
    assert lacking.stderr == "jaxtyping is missing here: torch, numpy and jaxtyping are needed, and src in PYTHONPATH\n"
