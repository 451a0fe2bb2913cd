"""Points: those that axes span, those that are refused before anything is run, and their records on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookpress.notebooks.profile import ProfileError
from bookpress.notebooks.source import Notebook
from bookpress.notebooks.values import ValueRefused, axes_of
from bookpress.sweeps.points import Point, PointRecord, in_order, number_of, points_of, recorded

ARecord = Callable[..., PointRecord]


@pytest.fixture
def notebook(toy: Any) -> Notebook:
    return Notebook(toy.add_point(), toy.layout)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "needs an axis"),
        (["device=cpu,cuda"], "device is no axis: a point is the same on every device"),
        (["wait=1,1.0"], "the axis wait has the value 1.0 twice"),
        (["wait=0.0,-0.0"], "the axis wait has the value 0.0 twice"),
        (["heads=1,[1]"], r"the axis heads has the value \[1\] twice"),
        (["n=1..99999", "seed=0..99999"], "the axes span 9,999,900,000 points; at most 100,000 are allowed"),
    ],
)
def test_axes_that_do_not_fit_are_refused_by_name(notebook: Notebook, texts: list[str], message: str) -> None:
    with pytest.raises(ValueRefused, match=message):
        points_of(notebook, axes_of(texts, notebook), {})


def test_a_point_is_known_by_its_parameters_except_the_device(notebook: Notebook) -> None:
    points = points_of(notebook, {"n": [3, 4], "seed": [0, 1]}, {"kind": "b"})
    assert [point.name for point in points] == [f"n={n},seed={seed},kind=b" for n in (3, 4) for seed in (0, 1)]
    assert len({point.identity for point in points}) == 4
    elsewhere = points_of(notebook, {"seed": [0, 1], "n": [3, 4]}, {"kind": "b", "device": "cuda"})
    assert {point.identity for point in elsewhere} == {point.identity for point in points}
    (whole,), (real,) = (points_of(notebook, {"wait": [value]}, {}) for value in (1, 1.0))
    assert whole.identity == real.identity


@given(st.lists(st.text(), min_size=2, max_size=2, unique=True))
def test_two_texts_have_two_names(texts: list[str]) -> None:
    names = {Point("a", {"kind": text, "n": 1}, {"kind": None, "n": 1}, ("kind", "n")).name for text in texts}
    assert len(names) == 2
    assert all("/" not in name and len(name.encode()) < 200 for name in names)


def test_points_come_in_the_order_of_an_expression_then_of_the_seeds(notebook: Notebook) -> None:
    points = points_of(notebook, {"n": [4, 1], "seed": [1, 0]}, {})
    assert next(point.name for point in in_order(points, "n")) == "n=1,seed=0"
    assert [point.parameters["seed"] for point in in_order(points)] == [0, 0, 1, 1]
    assert number_of("0.5 * n * len(heads)", points[0]) == 4.0
    for text in ("m", "__import__('os')", "n +", "n / 0"):
        with pytest.raises(ProfileError, match="is no number made of the parameters"):
            number_of(text, points[0])


def test_records_are_found_by_parameters_and_code(notebook: Notebook, a_record: ARecord, tmp_path: Path) -> None:
    first, second = points_of(notebook, {"n": [3, 4]}, {})
    record = a_record(first, numbers={"loss": float("inf"), "losses": [1.0, 0.5], "count": 3})
    record.write(tmp_path / "any name.json")
    for fingerprint in (None, "f"):
        assert recorded([first, second], tmp_path, fingerprint) == ({first.identity: record}, [second])
    assert recorded([first, second], tmp_path, "other code")[0] == {}


def test_a_record_from_before_a_parameter_is_that_of_its_default(
    notebook: Notebook, a_record: ARecord, tmp_path: Path
) -> None:
    at_default, other = points_of(notebook, {"kind": ["a", "b"]}, {})
    before = {key: value for key, value in at_default.parameters.items() if key != "kind"}
    a_record(at_default, parameters=before).write(tmp_path / "old.json")
    done, missing = recorded([at_default, other], tmp_path)
    assert (set(done), missing) == ({at_default.identity}, [other])


def test_a_damaged_record_is_named_and_counts_as_missing(
    notebook: Notebook, a_record: ARecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (point,) = points_of(notebook, {"n": [3]}, {})
    (tmp_path / "._n=3.json").write_bytes(b"\x00")  # as another system leaves them on a shared disk
    assert recorded([point], tmp_path) == ({}, [point])
    path = tmp_path / "n=3.json"
    a_record(point).write(path)
    path.write_text(path.read_text().replace('"seconds": 1.0', '"seconds": 2.0'))
    assert recorded([point], tmp_path) == ({}, [point])
    assert "n=3.json is damaged" in capsys.readouterr().err
