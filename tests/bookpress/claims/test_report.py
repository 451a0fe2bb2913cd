"""Numbers that a notebook reports."""

from typing import Any

import IPython.display
import numpy
import pytest
import torch

from bookpress.claims.report import REPORT_MIME, Reported, report


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: found.append(bundle))
    return found


def test_numbers_and_lists_travel_with_where_they_were_found(shown: list[dict[str, Any]]) -> None:
    report(loss=float("inf"), losses=torch.tensor([1.0, 0.5]), count=numpy.int64(3), right=True)
    reported = Reported.model_validate(shown[0][REPORT_MIME])
    assert reported.numbers == {"loss": float("inf"), "losses": [1.0, 0.5], "count": 3, "right": True}
    assert reported.environment["device"] == "CPU"
    assert "| losses | 1, 0.5 |" in shown[0]["text/markdown"]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({}, "at least one number"),
        ({"Loss": 1.0}, "lower-case"),
        ({"loss": []}, "a number or a list of numbers"),
        ({"loss": "low"}, "a number or a list of numbers"),
        ({"loss": [1.0, "x"]}, "a number or a list of numbers"),
    ],
)
def test_what_is_no_number_is_refused(numbers: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        report(**numbers)
