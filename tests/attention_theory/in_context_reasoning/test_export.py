import json

from attention_theory.in_context_reasoning.export import EXPORTS
from attention_theory.in_context_reasoning.instrument import trained_table


def test_the_readers_are_written_as_they_are_trained_and_small() -> None:
    forms = EXPORTS["readers"](samples=300)
    assert set(forms) == {".json"}
    written = forms[".json"]()
    assert json.loads(written) == trained_table(samples=300)
    assert len(written) < 400_000
