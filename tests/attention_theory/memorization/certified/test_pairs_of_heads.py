from dataclasses import replace

import pytest
import torch

from attention_theory.memorization.attention import KeyQueryHeads
from attention_theory.memorization.certified.pairs_of_heads import certify_labels
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.pairs_of_heads import build_pairs, build_single_heads
from attention_theory.randomness import normal


@pytest.mark.parametrize("shared", [True, False])
def test_exact_weights_are_next_to_the_built_ones(shared: bool) -> None:
    examples, labels = sample_examples(21, 2, 8, shared, seed=1), normal(21, seed=2)
    built = build_pairs(examples, labels, 7)
    assert certify_labels(examples, labels, built).settled


def test_exact_weights_are_next_to_single_heads() -> None:
    examples, labels = sample_examples(21, 3, 8, seed=1), normal(21, seed=2)
    built = build_single_heads(examples, labels, 3)
    assert certify_labels(examples, labels, built).settled
    wrong = torch.cat([labels[:-1], labels[-1:] + 1e-3])
    assert certify_labels(examples, wrong, built).outcome == "refuted"


def test_no_exact_weights_are_next_to_weights_that_miss_a_label() -> None:
    examples, labels = sample_examples(9, 3, 4, seed=1), normal(9, seed=2)
    built = build_pairs(examples, labels, 6)
    wrong = torch.cat([labels[:-1], labels[-1:] + 1e-3])
    assert certify_labels(examples, wrong, built).outcome == "refuted"
    queries = built.heads.queries.clone()
    queries[2, 0] += 1e-3
    moved = replace(built, heads=KeyQueryHeads(built.heads.keys, queries))
    assert certify_labels(examples, labels, moved).outcome != "proved"


def test_two_labels_for_the_same_query_are_never_proved() -> None:
    examples, labels = sample_examples(9, 3, 4, seed=1), normal(9, seed=2)
    built = build_pairs(examples, labels, 6)
    queries, wanted = examples.queries.clone(), labels.clone()
    queries[1], wanted[1] = queries[0], labels[0] + 1e-6
    assert certify_labels(replace(examples, queries=queries), wanted, built).outcome != "proved"
