import pytest

from attention_theory.memorization.certified import vectors
from attention_theory.memorization.certified.vectors import certify_general_position, certify_kruskal_rank
from attention_theory.numerics import modular_rank


def test_a_code_that_takes_the_rank_for_the_kruskal_rank_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "kruskal_rank", modular_rank)
    assert certify_kruskal_rank().outcome != "proved"


def test_a_code_that_calls_every_set_general_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "is_in_general_position", lambda vectors: True)
    assert certify_general_position().outcome != "proved"
