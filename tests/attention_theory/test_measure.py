"""The counters against what can be counted by hand."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.measure import cpu_seconds, entries_touched, peak_bytes, timed


@given(st.integers(1, 20), st.integers(1, 20))
def test_an_entrywise_product_touches_its_factors_and_its_result(rows: int, columns: int) -> None:
    left, right = torch.ones(rows, columns), torch.ones(columns)
    assert entries_touched(lambda: left * right) == 2 * rows * columns + columns
    assert entries_touched(lambda: left.cumsum(0)) == 2 * rows * columns


def test_peak_counts_what_is_alive_at_once() -> None:
    def one_after_another() -> None:
        for _ in range(3):
            torch.ones(100, dtype=torch.float64)

    def together() -> list[torch.Tensor]:
        return [torch.ones(100, dtype=torch.float64) for _ in range(3)]

    assert peak_bytes(one_after_another) in (800, 1600)
    assert peak_bytes(together) == 2400


def test_inputs_and_views_cost_nothing() -> None:
    x = torch.ones(10, 10)
    assert peak_bytes(lambda: x.T[2:].unsqueeze(0)) == 0
    assert peak_bytes(lambda: x.add_(1)) == 0


def test_seconds_are_of_one_pass_after_a_warm_up() -> None:
    passes = []
    assert cpu_seconds(lambda: passes.append(sum(range(10_000))), repeats=2) > 0
    assert len(passes) == 3


def test_a_pass_is_timed_once_and_gives_what_it_gives() -> None:
    passes: list[int] = []

    def one() -> int:
        passes.append(sum(range(10_000)))
        return len(passes)

    result, seconds = timed(one)
    assert (result, len(passes)) == (1, 1)
    assert seconds > 0
