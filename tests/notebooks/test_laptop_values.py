"""The kept values of the laptop run: the same on another processor, different when a notebook finds something else."""

from pathlib import Path
from typing import Any

import pytest

from bookpress.claims.evidence import Item, Settled
from bookpress.claims.record import Record
from bookpress.layout import Layout
from laptop_values import Laptop, differences, is_same, keep_values


def a_record(
    value: float, labels: tuple[str, ...] = ("loss", "rank"), elsewhere: dict[str, str] | None = None
) -> Record:
    """A run of one claim, whose first label has this value and whose others have the value 4."""
    values = dict.fromkeys(labels, 4.0) | {labels[0]: value}
    evidence = [Item.model_construct(label=label, measured=measured) for label, measured in values.items()]
    made_on = {"processor": "ours", "python": "3.11"} | (elsewhere or {})
    claims = [Settled.model_construct(claim="demo/lemma-1", evidence=evidence)]
    return Record.model_construct(notebook="demo/good", claims=claims, environment=made_on)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


@pytest.mark.parametrize(
    ("ours", "kept", "same"),
    [
        (1.0, 1.0, True),
        (1.06, 1.0, False),
        (-1.0, 1.0, False),
        (3e-16, 2e-14, True),
        (3e-16, 2e-11, False),
        (0.0, 4e-15, True),
        (True, False, False),
        (2.0, [1.0, 0.9, 2.1], True),
        (2.3, [1.0, 0.9, 2.1], False),
        (float("inf"), float("inf"), True),
        (4.5e-13, [0.0, 0.0, 4.5e-13], True),  # rounding on one machine and none on another, both kept
        (1e-5, [1e-12, 1e-12, 7e-9], False),
    ],
)
def test_what_counts_as_the_same(ours: Any, kept: Any, same: bool) -> None:
    assert is_same(ours, kept) is same


def test_values_are_kept_with_the_range_of_other_arithmetic_and_a_change_is_named(layout: Layout) -> None:
    assert differences(layout, a_record(0.4)) == ["demo/good: no values are kept"]
    keep_values(layout, "demo", [a_record(0.4)], [a_record(0.5)])
    assert Laptop.of(layout, "demo").values["demo/good"]["demo/lemma-1"] == {"loss": [0.4, 0.4, 0.5], "rank": 4}
    assert differences(layout, a_record(0.4)) == differences(layout, a_record(0.5)) == []
    assert differences(layout, a_record(0.7)) == ["demo/lemma-1: loss: 0.7, kept [0.4, 0.4, 0.5]"]


@pytest.mark.parametrize("elsewhere", [{"processor": "another"}, {"python": "3.14"}], ids=str)
def test_on_another_machine_labels_alone_are_compared_until_its_values_are_kept(
    layout: Layout, elsewhere: dict[str, str]
) -> None:
    keep_values(layout, "demo", [a_record(0.4)])
    assert differences(layout, a_record(0.7)) != []
    assert differences(layout, a_record(0.7, elsewhere=elsewhere)) == []
    assert differences(layout, a_record(0.7, ("loss",), elsewhere=elsewhere)) == [
        "demo/lemma-1: only here or only kept: rank"
    ]
    keep_values(layout, "demo", [a_record(0.7, elsewhere=elsewhere)], widen=True)
    laptop = Laptop.of(layout, "demo")
    assert {"ours", elsewhere.get("processor", "ours")} == {*laptop.processors}
    assert {"3.11", elsewhere.get("python", "3.11")} == {*laptop.releases}
    assert differences(layout, a_record(0.4)) == differences(layout, a_record(0.5)) == []


def test_values_that_drift_from_machine_to_machine_leave_none_out(layout: Layout) -> None:
    drifting = [a_record(value) for value in (0.5, 0.52, 0.54, 0.56)]
    for number, record in enumerate(drifting):
        keep_values(layout, "demo", [record], widen=number > 0)
    assert [differences(layout, record) for record in drifting] == [[], [], [], []]
    assert differences(layout, a_record(0.7)) != []


def test_equal_labels_are_numbered(layout: Layout) -> None:
    keep_values(layout, "demo", [a_record(0.4)])
    twice = a_record(0.4)
    twice.claims[0].evidence.append(twice.claims[0].evidence[0])
    assert differences(layout, twice) == ["demo/lemma-1: only here or only kept: loss (2)"]
