import pytest

from attention_theory.memorization.examples import sample_examples, with_faulty_context
from attention_theory.memorization.rank_certificate import rank_certificate


@pytest.mark.parametrize("shared", [True, False])
def test_the_bound_is_met_exactly(shared: bool) -> None:
    found = rank_certificate(sample_examples(13, 4, 6, shared, "integer", seed=1), heads=4)
    assert found.rank == found.bound == 13
    assert found.queries_independent


def test_more_shared_examples_do_not_help() -> None:
    assert rank_certificate(sample_examples(17, 4, 6, True, "integer", seed=1), heads=4).rank == 13


def test_a_duplicate_token_costs_one_per_head() -> None:
    examples = with_faulty_context(sample_examples(13, 4, 6, True, "integer", seed=1), "duplicate")
    assert rank_certificate(examples, heads=4).rank == 9
