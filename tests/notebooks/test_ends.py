"""Every notebook at both ends of every range that its parameters state, and with two more seeds: ``make ends``.

A stated range is a promise. At its ends a notebook may find something else than in the book, and it may refuse a
combination of parameters by name. It may not break, and it may refute no claim that the registry expects to hold.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from bookpress.claims.registry import Verdict
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.ranges import Rule, value_of
from bookpress.notebooks.run import Exit, RunFailed, run
from bookpress.notebooks.source import Notebook, Parameter

LAYOUT = Layout.here()
LIMITS = yaml.safe_load(Path(__file__).with_name("ends.yaml").read_text(encoding="utf-8"))


@pytest.mark.ends
@pytest.mark.parametrize("name", LAYOUT.notebooks())
def test_a_notebook_keeps_its_promises_at_the_ends_of_its_ranges(
    name: str, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    notebook = Notebook(name, LAYOUT)
    caps, small = (LIMITS[kind].get(name, {}) for kind in ("caps", "others"))
    for case in cases_of(notebook.parameters, caps, small):
        with subtests.test(", ".join(f"{key}={value!r}" for key, value in case.items())):
            if case.get("device") == "cuda" and not torch.cuda.is_available():
                pytest.skip("torch finds no CUDA device here")
            assert fault_at(notebook, case, tmp_path / "end.ipynb") == ""


def fault_at(notebook: Notebook, values: dict[str, Any], output: Path) -> str:
    """Run a notebook; describe an error, a refusal that names no parameter or a wrong refutation, if there is any."""
    try:
        record = run(notebook.name, values, LAPTOP, notebook.layout, output)
    except RunFailed as failure:
        message = str(failure)
        words = {*re.split(r"\W+", message), *re.split(r"\W+|_", message)}
        by_name = failure.code is Exit.BAD_PARAMETER and words & {parameter.name for parameter in notebook.parameters}
        return "" if by_name else message
    wrong = [claim.claim for claim in record.claims if claim.verdict is Verdict.REFUTED != claim.expected]
    return f"refuted against the registry: {', '.join(wrong)}" if wrong else ""


def cases_of(parameters: list[Parameter], caps: dict[str, Any], small: dict[str, Any]) -> list[dict[str, Any]]:
    """List the values to run with: one parameter at one end, the others as in the book or as in the small case.

    Other seeds are tried with all that the book has.

    Args:
        parameters: those of the notebook.
        caps: the largest value to try, or the smallest and the largest, by parameter.
        small: values that keep a run short, by parameter.
    """
    usual = {parameter.name: parameter.default for parameter in parameters} | small
    cases = []
    for parameter in parameters:
        if parameter.name == "seed":
            cases += [{"seed": parameter.default + 1}, {"seed": parameter.default + 2}]
        else:
            values = ends_of(parameter, usual, caps.get(parameter.name))
            cases += [small | {parameter.name: value} for value in values if value != usual[parameter.name]]
    return cases


def ends_of(parameter: Parameter, usual: dict[str, Any], cap: Any = None) -> list[Any]:
    """List the values at the ends of a parameter's range, or its choices; none where an end is open.

    Of a list, the smallest entry is put at the lower end and the largest at the upper end.
    """
    if parameter.rule is None:
        return []
    ends = ends_of_rule(parameter.rule, usual)
    if parameter.rule.choices is not None and not all(isinstance(end, int | float) for end in ends):
        return [] if parameter.rule.each else ends
    low, high = ends[0], ends[-1]
    if cap is not None:
        lowest, highest = cap if isinstance(cap, list) else (low, cap)
        low, high = max(low, lowest), None if high is None else min(high, highest)
    if parameter.rule.each:
        values = usual[parameter.name]
        put = [(min(values), low), (max(values), high)]
        return [[end if value == old else value for value in values] for old, end in put if end is not None]
    return [end for end in (low, high) if end is not None]


def ends_of_rule(rule: Rule, values: dict[str, Any]) -> list[Any]:
    """The least and the most value, or the choices, where the other parameters have these values."""
    if rule.choices is None:
        return [None if end is None else value_of(end, values) for end in (rule.least, rule.most)]
    choices = value_of(rule.choices, values)
    return [choices[0], choices[-1]] if isinstance(choices, range) else sorted(choices, key=repr)


def test_the_limits_lie_within_the_ranges() -> None:
    """Of caps, and of the small cases: each names a parameter and is no wider than its range."""
    for kind, by_notebook in LIMITS.items():
        for name, limits in by_notebook.items():
            known = {parameter.name: parameter for parameter in Notebook(name, LAYOUT).parameters}
            usual = {key: parameter.default for key, parameter in known.items()}
            usual |= limits if kind == "others" else {}
            for key, value in limits.items():
                rule = known[key].rule
                assert rule is not None, (name, key)
                assert value != known[key].default, (name, key)
                low, *_, high = ends_of_rule(rule, usual)
                for limit in value if isinstance(value, list) else [value]:
                    assert low is None or low <= limit, (name, key)
                    assert high is None or limit <= high, (name, key)
