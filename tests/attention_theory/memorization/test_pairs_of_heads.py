import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attention_theory as at
from attention_theory.memorization.attention import Examples, KeyQueryHeads, Readout
from attention_theory.memorization.examples import sample_examples, with_query_sum
from attention_theory.memorization.pairs_of_heads import build_pairs, build_single_heads, pair_capacity
from attention_theory.randomness import normal
from attention_theory.validation import ParameterError


def dot(left: list[float], right: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def outputs_one_by_one(heads: KeyQueryHeads, readout: Readout, examples: Examples) -> list[float]:
    """Each head's mean of numbers, summed by hand: the slow reference."""
    outputs = []
    for context, query in zip(examples.context_of_each.tolist(), examples.queries.tolist(), strict=True):
        output = 0.0
        for head in range(heads.count):
            logits = [0.0] * len(context)
            for column in range(heads.keys.shape[2]):
                factor = dot(heads.queries[head, :, column].tolist(), query)
                key = heads.keys[head, :, column].tolist()
                logits = [logit + factor * dot(key, token) for logit, token in zip(logits, context, strict=True)]
            powers = [math.exp(logit - max(logits)) for logit in logits]
            value = readout.values[head, :, 0].tolist()
            output += dot(powers, [dot(value, token) for token in context]) / sum(powers)
        outputs.append(output)
    return outputs


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 7), st.integers(2, 6), st.booleans(), st.integers(0, 2**31))
def test_as_many_labels_as_the_pairs_take_are_met(heads: int, tokens: int, shared: bool, seed: int) -> None:
    count = pair_capacity(heads, 7)
    examples, labels = sample_examples(count, tokens, 7, shared, seed=seed), normal(count, seed=seed + 1)
    built = build_pairs(examples, labels, heads, seed=seed)
    assert outputs_one_by_one(built.heads, built.readout, examples) == pytest.approx(labels.tolist(), abs=1e-7)


def test_two_tokens_that_differ_are_enough() -> None:
    """Assumption 2 is broken: all tokens but one are the same, or the context is longer than the width."""
    examples, labels = sample_examples(9, 3, 4, False, seed=2), normal(9, seed=3)
    contexts = examples.contexts.clone()
    contexts[:, 1] = contexts[:, 0]
    long = Examples(normal(9, 12, 4, seed=4), examples.queries)
    for data in (Examples(contexts, examples.queries), long):
        assert build_pairs(data, labels, 6).residual < 1e-9


def test_an_idle_head_and_spare_key_columns_are_zero() -> None:
    examples, labels = sample_examples(6, 2, 4, seed=1), normal(6, seed=2)
    built = build_pairs(examples, labels, 5, head_width=3)
    assert built.heads.keys.shape == (5, 4, 3)
    assert built.heads.queries[4].abs().max() == built.readout.values[4].abs().max() == 0
    assert built.heads.queries[..., 1:].abs().max() == 0
    assert built.residual < 1e-10


def test_a_broken_assumption_is_named() -> None:
    examples, labels = sample_examples(9, 2, 4, seed=1), normal(9, seed=2)
    repeated = Examples(examples.contexts, examples.queries.clone())
    repeated.queries[8] = repeated.queries[0]
    for dependent in (repeated, with_query_sum(examples, 3)):
        with pytest.raises(ParameterError, match="queries must be independent, every 4"):
            build_pairs(dependent, labels, 6)
    with pytest.raises(ParameterError, match="contexts must have two tokens that differ"):
        build_pairs(Examples(examples.contexts[:1].expand(3, -1), examples.queries), labels, 6)
    with pytest.raises(ParameterError, match="examples must be at most 9 with 7 heads"):
        build_pairs(sample_examples(10, 2, 4), normal(10, seed=1), 7)


def test_the_door_takes_more_labels_by_pairs_than_by_rank() -> None:
    examples, labels = sample_examples(21, 2, 8, False, seed=5), normal(21, 1, seed=6)
    layer = at.memorize(examples.contexts, examples.queries, labels, 6, method="pairs")
    assert layer.head_dim == 1
    assert (layer(examples.contexts, examples.queries) - labels).abs().max() < 1e-8
    with pytest.raises(ParameterError, match="at most 7"):
        at.memorize(examples.contexts, examples.queries, labels, 6)
    with pytest.raises(ParameterError, match="labels must be from 1 to 1"):
        at.memorize(examples.contexts, examples.queries, labels.expand(-1, 2), 6, method="pairs")
    with pytest.raises(ParameterError, match="method"):
        at.memorize(examples.contexts, examples.queries, labels, 6, method="pair")  # type: ignore[arg-type]


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 5), st.integers(3, 6), st.integers(0, 2**31))
def test_single_heads_meet_twice_as_many_labels(heads: int, tokens: int, seed: int) -> None:
    count = heads * 6
    examples, labels = sample_examples(count, tokens, 7, seed=seed), normal(count, seed=seed + 1)
    built = build_single_heads(examples, labels, heads, seed=seed)
    assert outputs_one_by_one(built.heads, built.readout, examples) == pytest.approx(labels.tolist(), abs=1e-7)
    layer = at.memorize(examples.contexts, examples.queries, labels[:, None], heads, seed=seed, method="single")
    assert layer.head_dim == 2
    assert (layer(examples.contexts, examples.queries)[:, 0] - labels).abs().max() < 1e-7


def test_single_heads_need_one_context_of_three_independent_tokens() -> None:
    labels = normal(9, seed=2)
    dependent = sample_examples(9, 3, 4, seed=1)
    dependent.contexts[2] = dependent.contexts[0] + dependent.contexts[1]
    with pytest.raises(ParameterError, match="contexts must have independent tokens"):
        build_single_heads(dependent, labels, 3)
    for data in (sample_examples(9, 2, 4, seed=1), sample_examples(9, 3, 4, False, seed=1)):
        with pytest.raises(ParameterError, match="contexts must be one of at least 3 tokens"):
            build_single_heads(data, labels, 3)
    with pytest.raises(ParameterError, match="examples must be at most 9 with 3 heads"):
        build_single_heads(sample_examples(10, 3, 4), normal(10, seed=1), 3)
