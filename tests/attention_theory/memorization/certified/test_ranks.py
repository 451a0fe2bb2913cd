import pytest
import torch

from attention_theory.memorization.attention import Examples
from attention_theory.memorization.certified import ranks
from attention_theory.memorization.certified.ranks import certify_rank_bound


@pytest.mark.parametrize("place", [(0, 0), (5, 1), (11, 1)])
def test_a_wrong_null_vector_is_noticed(place: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    exact = ranks.block_differences

    def wrong(heads: int, size: int) -> torch.Tensor:
        columns = exact(heads, size)
        columns[place] = torch.nextafter(columns[place], torch.tensor(2.0, dtype=columns.dtype))
        return columns

    monkeypatch.setattr(ranks, "block_differences", wrong)
    assert certify_rank_bound(heads=3, tokens=4).outcome != "proved"


def test_a_narrow_context_that_is_wrong_in_its_last_bit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = ranks.narrow_contexts

    def wrong(count: int, tokens: int, width: int, seed: int) -> Examples:
        examples = exact(count, tokens, width, seed)
        examples.contexts[5, 1, 3] = torch.nextafter(examples.contexts[5, 1, 3], torch.tensor(99.0).double())
        return examples

    monkeypatch.setattr(ranks, "narrow_contexts", wrong)
    assert ranks.certify_narrow_contexts(heads=3, tokens=2, width=4, count=12).outcome != "proved"


def test_one_example_too_many_in_a_head_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = ranks.fresh_examples
    monkeypatch.setattr(ranks, "fresh_examples", lambda *sizes: exact(*sizes) + 1)
    assert ranks.certify_promise_in_general_position(width=6).outcome != "proved"
