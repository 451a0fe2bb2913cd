import pytest
import torch

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
