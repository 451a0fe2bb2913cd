"""Runs at the ends of ranges: which there are, and what of them is a fault."""

from typing import Any

import pytest

from bookpress import ends
from bookpress.ends import Limits, Outcome, all_cases, cases_of, load_limits, run_end
from bookpress.layout import Layout
from bookpress.notebooks.profile import ProfileError
from bookpress.notebooks.run import Exit
from bookpress.notebooks.source import Notebook

PARAMETERS = """\
n = 3  # n, from 1 to 8
m = 2  # m, at least 2
sizes = [2, 3]  # sizes, each from 2 to 9
kind = "a"  # one of "a", "b"
seed = 0  # of every draw, at least 0

# %%
require(n=(n, 1, 8), m=(m, 2, None), sizes=(sizes, 2, 9), kind=(kind, {"a", "b"}), seed=(seed, 0, None))
"""


@pytest.fixture
def notebook(toy: Any) -> Notebook:
    toy.add("good")
    path = toy.layout.source("demo/good")
    before, _, after = path.read_text().partition("n = 3  # n, at least 1\n")
    path.write_text(before + PARAMETERS + after.partition("require(n=(n, 1, None))\n")[2])
    return Notebook("demo/good", toy.layout)


def test_a_cap_may_say_the_least_as_well(notebook: Notebook) -> None:
    cases = cases_of(notebook, Limits(caps={"n": (2, 6), "sizes": (2, 8)}))
    assert (cases["n-least"], cases["n-most"], cases["sizes-most"]) == ({"n": 2}, {"n": 6}, {"sizes": [2, 8]})


def test_a_small_case_stands_for_the_other_parameters_and_not_for_other_seeds(notebook: Notebook) -> None:
    assert cases_of(notebook, Limits(others={"m": 2, "n": 5, "sizes": [2, 4]})) == {
        "n-least": {"m": 2, "n": 1, "sizes": [2, 4]},
        "n-most": {"m": 2, "n": 8, "sizes": [2, 4]},
        "sizes-most": {"m": 2, "n": 5, "sizes": [2, 9]},
        "kind-b": {"m": 2, "n": 5, "sizes": [2, 4], "kind": "b"},
        "seed-1": {"seed": 1},
        "seed-2": {"seed": 2},
    }


def test_every_end_is_a_run_and_an_open_end_is_none(notebook: Notebook) -> None:
    assert cases_of(notebook, Limits(caps={"n": 6})) == {
        "n-least": {"n": 1},
        "n-most": {"n": 6},
        "sizes-most": {"sizes": [2, 9]},
        "kind-b": {"kind": "b"},
        "seed-1": {"seed": 1},
        "seed-2": {"seed": 2},
    }


@pytest.mark.parametrize("has_cuda", [True, False])
def test_a_cuda_device_is_an_end_only_where_there_is_one(
    has_cuda: bool, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = notebook.layout.source("demo/good")
    path.write_text(
        path.read_text()
        .replace('kind = "a"  # one of "a", "b"', 'device = "cpu"  # one of "cpu", "cuda"')
        .replace('kind=(kind, {"a", "b"})', 'device=(device, {"cpu", "cuda"})')
    )
    again = Notebook("demo/good", notebook.layout)
    monkeypatch.setattr(ends, "has_cuda", lambda: has_cuda)
    assert all_cases(again, Limits())["device-cuda"] == {"device": "cuda"}
    assert set(all_cases(again, Limits())) - set(cases_of(again, Limits())) == (set() if has_cuda else {"device-cuda"})


def test_a_run_at_an_end_leaves_its_outcome_and_the_book_alone(notebook: Notebook) -> None:
    outcome = run_end(notebook, "kind-b")
    assert (outcome.code, outcome.fault(["n"])) == (Exit.DONE, None)
    files = [path.name for path in notebook.layout.build.rglob("*.*") if path.is_file()]
    assert files == ["kind-b.json"]


@pytest.mark.parametrize(
    ("code", "said", "fault"),
    [
        (Exit.BAD_PARAMETER, "rate_times_n must be a number, at least 5, got 2", None),
        (Exit.BAD_PARAMETER, "it is too long", "refused without naming a parameter: it is too long"),
        (Exit.FAILED_CELL, "cell 5: ZeroDivisionError", "cell 5: ZeroDivisionError"),
        (Exit.FAILED_CHECK, "cell 5: EvidenceError", "cell 5: EvidenceError"),
        (Exit.TIME_OUT, "cell 5: stopped", "cell 5: stopped"),
    ],
)
def test_an_error_is_a_fault_and_a_refusal_by_name_is_none(code: Exit, said: str, fault: str | None) -> None:
    assert Outcome(parameters={"n": 1}, code=code, said=said).fault(["n", "rate"]) == fault


def test_a_claim_may_not_be_refuted_unless_the_registry_says_so() -> None:
    outcome = Outcome.model_validate(
        {"parameters": {}, "code": 0, "verdicts": {"a/b": ("refuted", "holds"), "a/c": ("refuted", "refuted")}}
    )
    assert outcome.fault([]) == "refuted, which the registry does not expect: a/b"


def test_the_small_cases_are_in_range_and_not_the_books_own() -> None:
    layout = Layout.here()
    for name, others in load_limits(layout).others.items():
        known = {one.name: one for one in Notebook(name, layout).parameters}
        base = {one.name: one.default for one in known.values()} | others
        for parameter, value in others.items():
            rule = known[parameter].rule
            assert rule is not None, (name, parameter)
            assert value != known[parameter].default, (name, parameter)
            ends_of_range = rule.ends(base)
            for one in value if rule.each else [value]:
                assert ends_of_range[0] <= one, (name, parameter)
                assert ends_of_range[-1] is None or one <= ends_of_range[-1], (name, parameter)


def test_the_caps_name_parameters_that_there_are() -> None:
    layout = Layout.here()
    for name, caps in load_limits(layout).caps.items():
        known = {one.name: one for one in Notebook(name, layout).parameters}
        defaults = {one.name: one.default for one in known.values()}
        for parameter, cap in caps.items():
            rule = known[parameter].rule
            assert rule is not None, (name, parameter)
            ends_of_range = rule.ends(defaults)
            least, most = ends_of_range[0], ends_of_range[-1]
            lowest, highest = cap if isinstance(cap, tuple) else (least, cap)
            assert least <= lowest <= highest, (name, parameter)
            assert most is None or highest <= most, (name, parameter)
            assert (lowest, highest) != (least, most), (name, parameter)


@pytest.mark.parametrize("content", ["caps: {demo/good: {n: many}}\n", "demo/good: {n: 6}\n", "others: [1]\n"])
def test_limits_of_another_form_are_refused(content: str, toy: Any) -> None:
    toy.layout.profiles.mkdir()
    (toy.layout.profiles / "ends.yaml").write_text(content)
    with pytest.raises(ProfileError, match=r"ends\.yaml"):
        load_limits(toy.layout)


def test_a_case_leaves_its_outcome_and_an_executed_notebook_only_where_it_failed(notebook: Notebook) -> None:
    path = notebook.path
    path.write_text(path.read_text().replace("require(n=(n, 1, 8)", "1 / (8 - n)\nrequire(n=(n, 1, 8)"))
    anew = Notebook(notebook.name, notebook.layout)
    done, broken = run_end(anew, "n-least"), run_end(anew, "n-most")
    assert (done.code, done.parameters["n"], list(done.verdicts)) == (Exit.DONE, 1, ["demo/lemma-1"])
    assert broken.code is Exit.FAILED_CELL
    assert "ZeroDivisionError" in broken.said
    left = {one.name for one in notebook.layout.end(notebook.name, "n-most").parent.iterdir()}
    assert {name for name in left if name.endswith(".ipynb")} == {"n-most.failed.ipynb"}
    assert {"n-least.json", "n-most.json"} <= left
