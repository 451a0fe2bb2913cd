import pytest
import torch

from attention_theory.memorization.attention import Examples
from attention_theory.memorization.certified import ranks
from attention_theory.memorization.certified.ranks import certify_rank_bound


def test_the_rank_of_the_weights_is_bounded_for_all_heads() -> None:
    certificate = certify_rank_bound(heads=3, tokens=4)
    assert certificate.settled
    assert "rank 12, above 10" in certificate.control.observed


@pytest.mark.parametrize("place", [(0, 0), (5, 1), (11, 1)])
def test_a_wrong_null_vector_is_noticed(place: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    exact = ranks.block_differences

    def wrong(heads: int, size: int) -> torch.Tensor:
        columns = exact(heads, size)
        columns[place] = torch.nextafter(columns[place], torch.tensor(2.0, dtype=columns.dtype))
        return columns

    monkeypatch.setattr(ranks, "block_differences", wrong)
    assert certify_rank_bound(heads=3, tokens=4).outcome != "proved"


def test_tokens_of_one_sum_bound_the_rank_for_all_weights() -> None:
    certificate = ranks.certify_token_sums(heads=3, tokens=3, width=4)
    assert certificate.settled
    assert "rank 12, above 10" in certificate.control.observed


def test_no_weights_give_the_narrow_contexts_more_rank() -> None:
    certificate = ranks.certify_narrow_contexts(heads=3, tokens=2, width=4, count=12)
    assert certificate.settled
    assert "rank 12, above 8" in certificate.control.observed


def test_a_narrow_context_that_is_wrong_in_its_last_bit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = ranks.narrow_contexts

    def wrong(count: int, tokens: int, width: int, seed: int) -> Examples:
        examples = exact(count, tokens, width, seed)
        examples.contexts[5, 1, 3] = torch.nextafter(examples.contexts[5, 1, 3], torch.tensor(99.0).double())
        return examples

    monkeypatch.setattr(ranks, "narrow_contexts", wrong)
    assert ranks.certify_narrow_contexts(heads=3, tokens=2, width=4, count=12).outcome != "proved"


def test_the_promise_in_general_position_is_of_order_Hd_from_two_tokens_on() -> None:
    assert ranks.certify_promise_in_general_position(width=30).settled


def test_one_example_too_many_in_a_head_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = ranks.fresh_examples
    monkeypatch.setattr(ranks, "fresh_examples", lambda *sizes: exact(*sizes) + 1)
    assert ranks.certify_promise_in_general_position(width=6).outcome != "proved"
