import pytest
import torch

from attention_theory.memorization.examples import (
    integer_vectors,
    sample_examples,
    with_faulty_context,
    with_query_span,
    with_query_sum,
    with_token_sum,
)
from attention_theory.memorization.kruskal import kruskal_rank
from attention_theory.numerics import numerical_rank


def test_token_sums() -> None:
    examples = with_token_sum(sample_examples(4, 3, 6, shared=False, seed=0), 3.0)
    assert torch.allclose(examples.contexts.sum(-1), torch.tensor(3.0).double())


def test_every_fault_costs_one_dimension() -> None:
    for fault in ("duplicate", "affine", "linear"):
        context = with_faulty_context(sample_examples(4, 3, 6, seed=0), fault).contexts
        assert numerical_rank(context).item() == 2


def test_query_span() -> None:
    examples = with_query_span(sample_examples(9, 3, 6, seed=0), 2, seed=1)
    assert numerical_rank(examples.queries).item() == 2


def test_whole_numbers_stay_in_range() -> None:
    vectors = integer_vectors(50, 4, seed=0, largest=3)
    assert vectors.min() == -3
    assert vectors.max() == 3


@pytest.mark.parametrize("terms", [2, 3])
def test_a_sum_among_generic_queries_sets_the_kruskal_rank(terms: int) -> None:
    examples = with_query_sum(sample_examples(8, 3, 4, law="integer", seed=2), terms)
    assert kruskal_rank(examples.queries.long()) == terms
    assert int(torch.linalg.matrix_rank(examples.queries)) == 4
