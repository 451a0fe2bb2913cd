import json

import pytest

from attention_theory.memorization import instrument
from attention_theory.memorization.export import EXPORTS


def test_the_ranks_are_written_as_they_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instrument, "WIDTHS", (3,))
    monkeypatch.setattr(instrument, "HEAD_WIDTHS", (2,))
    forms = EXPORTS["ranks"](seed=1)
    assert set(forms) == {".json"}
    assert json.loads(forms[".json"]()) == instrument.rank_table(1)
