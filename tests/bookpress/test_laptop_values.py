"""The kept values of the laptop run: the same on another processor, different when a notebook finds something else."""

from typing import Any

import pytest

from bookpress.claims.record import Record
from bookpress.laptop_values import Laptop, differences, is_same, keep_values
from bookpress.notebooks.run import run


@pytest.mark.parametrize(
    ("ours", "kept", "same"),
    [
        (1.0, 1.0, True),
        (1.04, 1.0, True),
        (1.06, 1.0, False),
        (-1.0, 1.0, False),
        (3e-16, 2e-14, True),
        (3e-16, 2e-11, False),
        (0.0, 0.0, True),
        (0.0, 4e-15, True),
        (0.0, 1e-3, False),
        (5, 5, True),
        (5, 7, False),
        (True, False, False),
        ("a", "a", True),
        (2.0, [1.0, 0.9, 2.1], True),
        (2.3, [1.0, 0.9, 2.1], False),
        (float("inf"), float("inf"), True),
        (4.5e-13, [0.0, 0.0, 4.5e-13], True),  # rounding on one machine and none on another, both kept
        (1e-5, [1e-12, 1e-12, 7e-9], False),
    ],
)
def test_what_counts_as_the_same(ours: Any, kept: Any, same: bool) -> None:
    assert is_same(ours, kept) is same


def test_values_are_kept_with_the_range_of_other_arithmetic_and_a_change_is_named(toy: Any) -> None:
    record = run(toy.add("good"), layout=toy.layout)
    assert differences(toy.layout, record) == ["demo/good: no values are kept"]
    other = changed(record, 0.5)
    (path,) = keep_values(toy.layout, [record], [other])
    assert path.name == "demo.json"
    kept = Laptop.of(toy.layout, "demo").values["demo/good"]["demo/lemma-1"]
    assert kept == {"one is less": [1 / 3, 1 / 3, 0.5], "four is less": 4}
    assert differences(toy.layout, record) == differences(toy.layout, other) == []
    assert differences(toy.layout, changed(record, 0.7)) == [
        "demo/lemma-1: one is less: 0.7, kept [0.3333333333333333, 0.3333333333333333, 0.5]"
    ]


@pytest.mark.parametrize("what", ["processor", "python"])
def test_on_another_machine_labels_are_compared_until_its_values_are_kept_beside(toy: Any, what: str) -> None:
    record = run(toy.add("good"), layout=toy.layout)
    keep_values(toy.layout, [record])
    other = changed(record, 0.7)
    assert differences(toy.layout, other) != []
    other = other.model_copy(update={"environment": {**record.environment, what: "another"}})
    assert differences(toy.layout, other) == []
    other.claims[0].evidence.pop()
    assert differences(toy.layout, other) == ["demo/lemma-1: only here or only kept: four is less"]

    other = changed(record, 0.7).model_copy(update={"environment": {**record.environment, what: "another"}})
    keep_values(toy.layout, [other], beside=True)
    laptop = Laptop.of(toy.layout, "demo")
    names = {"processor": laptop.processors, "python": laptop.releases}
    assert names.pop(what) == sorted([record.environment[what], "another"])
    assert list(names.values()) == [[record.environment[one]] for one in names]
    assert laptop.values["demo/good"]["demo/lemma-1"] == {"one is less": [1 / 3, 1 / 3, 0.7], "four is less": 4}
    assert differences(toy.layout, record) == differences(toy.layout, changed(record, 0.5)) == []
    keep_values(toy.layout, [record])
    laptop = Laptop.of(toy.layout, "demo")
    assert [laptop.processors, laptop.releases] == [[record.environment[one]] for one in ("processor", "python")]


def test_values_that_drift_from_machine_to_machine_leave_none_out(toy: Any) -> None:
    record = run(toy.add("good"), layout=toy.layout)
    drifting = [changed(record, value) for value in (0.5, 0.52, 0.54, 0.56)]
    keep_values(toy.layout, drifting[:1])
    for later in drifting[1:]:
        keep_values(toy.layout, [later], beside=True)
    assert [differences(toy.layout, one) for one in drifting] == [[]] * len(drifting)
    assert differences(toy.layout, changed(record, 0.7)) != []


def changed(record: Record, value: float) -> Record:
    other = record.model_copy(deep=True)
    first = other.claims[0].evidence
    first[0] = first[0].model_copy(update={"measured": value})
    return other
