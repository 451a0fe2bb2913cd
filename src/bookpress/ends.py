"""Every notebook at both ends of every range that its parameters state, away from the book.

A stated range is a promise: at its ends a notebook may find something else than the book, and may refuse a combination
by name; it may not break.
"""

import re
from contextlib import suppress
from functools import cache
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from rich.console import Console

from bookpress.claims.registry import Verdict
from bookpress.files import load_yaml, write_whole
from bookpress.graph.build import show_failures
from bookpress.graph.engine import BuildError, Unfinished, run_graph, the_only_build
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.profile import ProfileError
from bookpress.notebooks.run import Exit, RunFailed, run
from bookpress.notebooks.source import Notebook, Parameter

#: Beside the seed of the book.
OTHER_SEEDS = 2

#: The most to which a parameter is taken, or the least and the most.
Cap = int | float | tuple[int | float, int | float]


class Outcome(BaseModel):
    """How one run at an end came out."""

    parameters: dict[str, Any]
    code: Exit
    said: str = ""
    verdicts: dict[str, tuple[Verdict, Verdict]] = {}

    def fault(self, known: list[str]) -> str | None:
        """What is to be put right: an error, a true claim refuted, a refusal that names no parameter."""
        if self.code is Exit.BAD_PARAMETER:
            words = set(re.split(r"\W+|_", self.said)) | set(re.split(r"\W+", self.said))
            return None if words & set(known) else f"refused without naming a parameter: {self.said}"
        if self.code is not Exit.DONE:
            return self.said
        wrong = [claim for claim, (found, expected) in self.verdicts.items() if found is Verdict.REFUTED != expected]
        return f"refuted, which the registry does not expect: {', '.join(wrong)}" if wrong else None


class Limits(BaseModel):
    """What keeps the runs of one notebook short: caps of its ranges, and a small case for the other parameters."""

    model_config = ConfigDict(extra="forbid")

    caps: dict[str, Cap] = {}
    others: dict[str, Any] = {}


class AllLimits(BaseModel):
    """The content of ``notebooks/profiles/ends.yaml``, by the names of notebooks."""

    model_config = ConfigDict(extra="forbid")

    caps: dict[str, dict[str, Cap]] = {}
    others: dict[str, dict[str, Any]] = {}

    def of(self, notebook: str) -> Limits:
        """The limits of one notebook, which may have none."""
        return Limits(caps=self.caps.get(notebook, {}), others=self.others.get(notebook, {}))


def load_limits(layout: Layout) -> AllLimits:
    """What ``notebooks/profiles/ends.yaml`` says.

    Raises:
        ProfileError: the file is not of the form ``caps: {notebook: {parameter: number or [number, number]}}`` and
            ``others: {notebook: {parameter: value}}``.
    """
    path = layout.profiles / "ends.yaml"
    if not path.is_file():
        return AllLimits()
    try:
        return AllLimits.model_validate(load_yaml(path) or {})
    except (yaml.YAMLError, UnicodeDecodeError, ValidationError) as error:
        raise ProfileError(f"{path.name}: {error}") from error


def cases_of(notebook: Notebook, limits: Limits) -> dict[str, dict[str, Any]]:
    """The runs of one notebook by their names: one parameter at one end, the others as in the book or the small case.

    Another seed is tried with all that the book has. An end that is a CUDA device is none where torch finds none.
    """
    cases = all_cases(notebook, limits)
    if not any(map(on_cuda, cases.values())) or has_cuda():
        return cases
    return {name: values for name, values in cases.items() if not on_cuda(values)}


def on_cuda(values: dict[str, Any]) -> bool:
    """Whether a run asks for a CUDA device."""
    return str(values.get("device", "")).startswith("cuda")


@cache
def has_cuda() -> bool:
    """Whether torch finds a CUDA device here: neither a build for CPUs nor a machine without a GPU has one."""
    import torch  # seconds, and asked for by few commands

    return torch.cuda.is_available()


def all_cases(notebook: Notebook, limits: Limits) -> dict[str, dict[str, Any]]:
    """What :func:`cases_of` gives on a machine that has every device."""
    base = {one.name: one.default for one in notebook.parameters} | limits.others
    cases: dict[str, dict[str, Any]] = {}
    for one in notebook.parameters:
        if one.name == "seed":
            cases |= {f"seed-{number}": {"seed": one.default + number} for number in range(1, OTHER_SEEDS + 1)}
        elif one.rule:
            cases |= {
                f"{one.name}-{name}": limits.others | {one.name: value}
                for name, value in _ends(one, base, limits.caps).items()
                if value != base[one.name]
            }
    return cases


def run_end(notebook: Notebook, case: str) -> Outcome:
    """Run one case and write its outcome; the executed notebook is kept where it failed."""
    values = all_cases(notebook, load_limits(notebook.layout).of(notebook.name))[case]
    path = notebook.layout.end(notebook.name, case)
    executed = path.with_suffix(".ipynb")
    try:
        record = run(notebook.name, values, LAPTOP, notebook.layout, executed)
        verdicts = {one.claim: (one.verdict, one.expected) for one in record.claims}
        outcome = Outcome(parameters=values, code=Exit.DONE, verdicts=verdicts)
    except RunFailed as failure:
        outcome = Outcome(parameters=values, code=failure.code, said=str(failure))
    executed.unlink(missing_ok=True)
    write_whole(path, outcome.model_dump_json(indent=1) + "\n")
    return outcome


def run_ends(layout: Layout, names: list[str], cores: str, console: Console) -> None:
    """Run the notebooks at their ends, or take up again what was begun, and show what broke.

    Raises:
        BuildError: some run broke, or did not come to its end.
    """
    notebooks = [Notebook(name, layout) for name in names or layout.notebooks()]
    limits = load_limits(layout)
    paths = {
        f"{one.name} {case}": (one, layout.end(one.name, case))
        for one in notebooks
        for case in cases_of(one, limits.of(one.name))
    }
    if left_out := [
        f"{one.name} {case}"
        for one in notebooks
        for case in all_cases(one, limits.of(one.name))
        if f"{one.name} {case}" not in paths
    ]:
        console.print(f"left out, since torch finds no CUDA device here: {', '.join(left_out)}")
    with the_only_build(layout), suppress(Unfinished):
        run_graph(layout, ["ends"], cores, ends=",".join(one.name for one in notebooks))
    faults = {}
    for name, (notebook, path) in paths.items():
        if not path.is_file():
            faults[name] = "it did not come to its end"
            continue
        outcome = Outcome.model_validate_json(path.read_text(encoding="utf-8"))
        if fault := outcome.fault([one.name for one in notebook.parameters]):
            faults[f"{name} ({', '.join(f'{key}={value!r}' for key, value in outcome.parameters.items())})"] = fault
    if faults:
        show_failures(faults, console)
        raise BuildError(f"{len(faults)} of {len(paths)} runs at the ends of ranges broke")
    console.print(f"{len(paths)} runs at the ends of ranges, none broke")


def _ends(parameter: Parameter, base: dict[str, Any], caps: dict[str, Cap]) -> dict[str, Any]:
    """The values to try beside those of ``base``: both ends, or every choice. An open end is left as it is."""
    if parameter.rule is None:
        return {}
    ends = parameter.rule.ends(base)
    if parameter.rule.choices is not None and not all(isinstance(one, int | float) for one in ends):
        return {} if parameter.rule.each else {re.sub(r"\W+", "_", str(one)): one for one in ends}
    least, most = ends[0], ends[-1]
    if (cap := caps.get(parameter.name)) is not None:
        lowest, highest = cap if isinstance(cap, tuple) else (least, cap)
        least, most = max(least, lowest), None if most is None else min(most, highest)
    found = {"least": least, "most": most}
    if parameter.rule.each:
        found = {
            name: None if end is None else _with_end(base[parameter.name], name, end) for name, end in found.items()
        }
    return {name: value for name, value in found.items() if value is not None}


def _with_end(values: list[Any], name: str, end: Any) -> list[Any]:
    """A list whose smallest value is at the least, or whose largest is at the most."""
    extreme = min(values) if name == "least" else max(values)
    return [end if value == extreme else value for value in values]
