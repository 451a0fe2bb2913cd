import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.memorization.attention import capacity, features, predict
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import random_labels, sample_examples, with_query_span
from attention_theory.memorization.readout import labels_for_skip, solve_readout
from attention_theory.memorization.roles import blocks, fixed_roles, printed_roles
from attention_theory.numerics import numerical_rank
from attention_theory.validation import ParameterError


@settings(max_examples=20, deadline=None)
@given(
    heads=st.integers(1, 4),
    tokens=st.integers(1, 5),
    head_width=st.integers(1, 7),
    shared=st.booleans(),
    spare=st.integers(0, 3),
    seed=st.integers(0, 50),
)
def test_any_labels_are_memorised(
    heads: int, tokens: int, head_width: int, shared: bool, spare: int, seed: int
) -> None:
    count = max(1, capacity(heads, tokens, head_width) - spare)
    examples = sample_examples(count, tokens, 8, shared, seed=seed)
    labels = random_labels(count, 2, seed + 1)
    built = build_heads(examples, heads, head_width, seed=seed)
    assert torch.allclose(built.Z, features(built.heads, examples), atol=1e-13)
    assert numerical_rank(built.Z).item() == count
    readout = solve_readout(built.Z, labels, heads, 3)
    assert (predict(built.heads, readout, examples) - labels).abs().max() < 1e-9
    for report in built.reports:
        assert report.target_error < 1e-10
        assert report.one_hot_error <= report.distance


def test_more_examples_than_promised_are_refused() -> None:
    with pytest.raises(ParameterError, match="examples"):
        build_heads(sample_examples(14, 4, 8), heads=4, head_width=8)


def test_weak_queries_with_a_limit() -> None:
    examples = with_query_span(sample_examples(capacity(3, 2, 8), 4, 8, seed=0), 2, seed=1)
    built = build_heads(examples, 3, 8, rank_limit=2)
    assert numerical_rank(built.Z).item() == examples.count


def test_skip_labels() -> None:
    examples = sample_examples(capacity(3, 4, 8), 4, 8, seed=0)
    labels = random_labels(examples.count, 2, seed=1)
    built = build_heads(examples, 3, 8)
    readout = solve_readout(built.Z, labels_for_skip(labels, examples.queries), 3, 2)
    assert torch.allclose(predict(built.heads, readout, examples, skip=True), labels, atol=1e-10)


def test_blocks_cover_every_example_once() -> None:
    assert blocks(11, heads=4, together=4) == [range(4), range(4, 7), range(7, 10), range(10, 11)]
    assert blocks(1, heads=3, together=1) == [range(1), range(1, 1), range(1, 1)]


def test_both_forms_clear_the_fresh_rows() -> None:
    draw = torch.Generator().manual_seed(0)
    Z = torch.randn(9, 3, dtype=torch.float64, generator=draw) @ torch.randn(3, 8, dtype=torch.float64, generator=draw)
    printed = printed_roles(Z, together=4)
    assert len(printed.earlier) == 3
    assert (Z[printed.fresh] + printed.C @ Z[printed.earlier]).abs().max() < 1e-12
    fixed = fixed_roles(Z @ Z.T, range(4, 7))
    assert (Z[fixed.fresh] + fixed.C @ Z[fixed.earlier]).abs().max() < 1e-5


def test_printed_form_reaches_the_rank_too() -> None:
    examples = sample_examples(capacity(4, 4, 8), 4, 8, seed=0)
    assert numerical_rank(build_heads(examples, 4, 8, form="printed").Z).item() == examples.count


def test_readout_is_the_best_in_least_squares_where_rows_depend() -> None:
    Z = torch.ones(2, 4).double()
    labels = torch.tensor([[0.0], [1.0]]).double()
    fitted = Z @ solve_readout(Z, labels, 1, 1).values[0]
    assert torch.allclose(fitted, torch.full((2, 1), 0.5).double())
