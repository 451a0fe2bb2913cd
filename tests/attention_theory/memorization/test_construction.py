import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.memorization.attention import Examples, capacity, features, predict
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import sample_examples, with_faulty_context, with_query_span
from attention_theory.memorization.readout import solve_readout
from attention_theory.numerics import numerical_rank
from attention_theory.randomness import normal
from attention_theory.validation import ParameterError


@settings(max_examples=12)
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
    labels = normal(count, 2, seed=seed + 1)
    built = build_heads(examples, heads, head_width, seed=seed)
    assert torch.allclose(built.Z, features(built.heads, examples), atol=1e-13)
    assert numerical_rank(built.Z).item() == count
    readout = solve_readout(built.Z, labels, heads, 3)
    assert (predict(built.heads, readout, examples) - labels).abs().max() < 1e-9
    for report in built.reports:
        assert report.target_error < 1e-10
        assert report.one_hot_error <= report.distance


def test_weak_queries_with_a_limit() -> None:
    examples = with_query_span(sample_examples(capacity(3, 2, 8), 4, 8, seed=0), 2, seed=1)
    built = build_heads(examples, 3, 8, rank_limit=2)
    assert numerical_rank(built.Z).item() == examples.count


def test_printed_form_reaches_the_rank_too() -> None:
    examples = sample_examples(capacity(4, 4, 8), 4, 8, seed=0)
    assert numerical_rank(build_heads(examples, 4, 8, form="printed").Z).item() == examples.count


@pytest.mark.parametrize("broken", ["queries", "context"])
def test_broken_assumptions_are_refused(broken: str) -> None:
    examples = sample_examples(13, 4, 8, seed=0)
    if broken == "queries":
        queries = examples.queries.clone()
        queries[6] = queries[5]
        examples = Examples(examples.contexts, queries)
    else:
        examples = with_faulty_context(examples, "duplicate")
    with pytest.raises(ParameterError, match="Assumption"):
        build_heads(examples, 4, 8)
