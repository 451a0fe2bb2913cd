import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.hyper_attention.layers.entries import entries_touched
from attention_theory.hyper_attention.layers.linear_sums import linear_pair_sum
from attention_theory.hyper_attention.layers.sums import Sum


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 20))
def test_an_entrywise_product_touches_its_factors_and_its_result(rows: int, columns: int) -> None:
    left, right = torch.ones(rows, columns), torch.ones(columns)
    assert entries_touched(lambda: left * right) == 2 * rows * columns + columns
    assert entries_touched(lambda: left.cumsum(0)) == 2 * rows * columns


def test_prefix_sums_taken_anew_for_each_row_are_seen() -> None:
    def anew(x: torch.Tensor) -> torch.Tensor:
        return (torch.ones(len(x), len(x)).tril()[:, :, None] * x).sum(1)

    x = torch.ones(64, 3)
    assert torch.equal(anew(x), x.cumsum(0))
    assert entries_touched(lambda: anew(x)) > 64**2 * 3
    assert entries_touched(lambda: x.cumsum(0)) == 2 * 64 * 3


@pytest.mark.parametrize(("sum_over", "causal"), [("all", True), ("ge", False), ("le", True)])
def test_entries_of_prefix_sums_are_linear_in_the_tokens(sum_over: Sum, causal: bool) -> None:
    x = torch.randn(5, 80, 4, generator=torch.Generator().manual_seed(0))
    short, long = (
        entries_touched(lambda n=n: linear_pair_sum(*x[:, :n], sum_over=sum_over, causal=causal))  # type: ignore[misc]
        for n in (40, 80)
    )
    assert 1.8 < long / short <= 2
