import json

import pytest

from attention_theory.in_context_reasoning import instrument
from attention_theory.in_context_reasoning.export import EXPORTS


def test_the_readers_are_written_as_they_are_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instrument, "_TIMES", (0, 2))
    forms = EXPORTS["readers"](samples=300)
    assert set(forms) == {".json"}
    assert json.loads(forms[".json"]()) == instrument.trained_table(samples=300)
