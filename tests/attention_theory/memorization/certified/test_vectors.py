import pytest

from attention_theory.memorization.certified import vectors
from attention_theory.memorization.certified.vectors import (
    certify_block_triangle,
    certify_general_position,
    certify_kruskal_rank,
)
from attention_theory.numerics import modular_rank


def test_the_kruskal_rank_of_every_small_set_is_right() -> None:
    assert certify_kruskal_rank().settled


def test_general_position_of_every_small_set_is_right() -> None:
    assert certify_general_position().settled


def test_a_code_that_takes_the_rank_for_the_kruskal_rank_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "kruskal_rank", modular_rank)
    assert certify_kruskal_rank().outcome != "proved"


def test_a_code_that_calls_every_set_general_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "is_in_general_position", lambda vectors: True)
    assert certify_general_position().outcome != "proved"


def test_the_ranks_of_the_blocks_of_a_triangle_add_up() -> None:
    certificate = certify_block_triangle()
    assert certificate.settled
    assert "rank 1, the blocks on the diagonal 2" in certificate.control.observed
