"""Records of points: found by what was set, whole or counted as missing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bookpress.notebooks.source import Notebook
from bookpress.sweeps.points import PointRecord, Points, done_and_missing
from bookpress.sweeps.sweep import points_of

ARecord = Callable[..., PointRecord]


def test_a_record_comes_back_as_it_was_written(toy: Any, a_record: ARecord, tmp_path: Path) -> None:
    (point,) = points_of(Notebook(toy.add_point(), toy.layout), {"n": [3]}, {})
    record = a_record(point, numbers={"loss": float("inf"), "losses": [1.0, 0.5], "count": 3})
    record.write(tmp_path / "n=3.json")
    assert PointRecord.read(tmp_path / "n=3.json") == record


def test_points_are_found_by_what_was_set(toy: Any, a_record: ARecord, tmp_path: Path) -> None:
    first, second = points_of(Notebook(toy.add_point(), toy.layout), {"n": [3, 4]}, {})
    a_record(first).write(tmp_path / "any name.json")
    found = Points(tmp_path)
    assert found.of(first)
    assert not found.of(second)
    assert found.of(first, "f")
    assert not found.of(first, "other code")
    done, missing = done_and_missing([first, second], found)
    assert (set(done), missing) == ({first.identity}, [second])


def test_a_record_from_before_a_parameter_stands_for_its_default(toy: Any, a_record: ARecord, tmp_path: Path) -> None:
    name = toy.add_point()
    at_default, other = points_of(Notebook(name, toy.layout), {"kind": ["a", "b"]}, {})
    before = {key: value for key, value in at_default.parameters.items() if key != "kind"}
    a_record(at_default, parameters=before).write(tmp_path / "old.json")
    found = Points(tmp_path)
    assert found.of(at_default)
    assert not found.of(other)


def test_a_damaged_record_is_named_and_missing(toy: Any, a_record: ARecord, tmp_path: Path) -> None:
    (point,) = points_of(Notebook(toy.add_point(), toy.layout), {"n": [3]}, {})
    path = tmp_path / "n=3.json"
    a_record(point).write(path)
    path.write_text(path.read_text().replace('"seconds": 1.0', '"seconds": 2.0'))
    (tmp_path / "short.json").write_bytes(b"\xff{")
    found = Points(tmp_path)
    assert found.of(point) is None
    assert [line.partition(" is damaged")[0] for line in found.damaged] == ["n=3.json", "short.json"]
