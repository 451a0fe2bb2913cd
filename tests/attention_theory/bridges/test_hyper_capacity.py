"""The rank of HyperAttention's features: exact, within its bounds, and equal to them where a theorem says so."""

import pytest
import torch

from attention_theory.bridges.hyper_capacity import (
    _tuple_tokens,
    capacity_bound,
    exact_features,
    exact_rank,
    random_scores,
    softmax_features,
)
from attention_theory.hyper_attention.layers.sums import Sum
from attention_theory.numerics import numerical_rank


@pytest.mark.parametrize("sum_over", ["all", "le"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("order", [2, 3])
def test_ranks_meet_their_bounds(order: int, shared: bool, sum_over: Sum) -> None:
    most = capacity_bound(2, 3, 4, order, sum_over, shared)
    assert exact_rank(2, 3, 4, order, most + 2, 0, sum_over, shared) == most
    assert exact_rank(2, 3, 4, order, most - 2, 0, sum_over, shared) == most - 2


def test_shared_keys_of_width_one_count_multisets() -> None:
    assert capacity_bound(2, 3, 4, 3, symmetric=True) == 2 * (6 - 1) + 1
    assert exact_rank(2, 3, 4, 3, 14, 0, scores="width one, shared") == 11
    assert exact_rank(2, 3, 4, 3, 20, 0, scores="width one") == 17
    assert capacity_bound(2, 3, 4, 3, shared=False, symmetric=True) == 20


def test_too_few_tokens_for_the_members_miss_the_alternating_values() -> None:
    assert exact_rank(1, 2, 3, 4, 40, 0, shared=False) == 27 - 1


def test_exact_features_are_the_floating_ones_up_to_rows() -> None:
    queries, contexts = torch.tensor([[1, -2], [3, 1]]), torch.tensor([[[1, 0], [1, 2]], [[0, 1], [-1, 1]]])
    scores = random_scores(1, 2, 3, "full", 0, largest=1)
    floating = softmax_features(queries.double(), contexts.double(), scores * torch.tensor(7.0).double().log(), 3)
    exact = exact_features(queries, contexts, scores, 3)
    logits = torch.einsum("tq,hqx,tjx->thj", queries, scores.unflatten(1, (2, -1)), _tuple_tokens(contexts, 3, "all"))
    sums = (7.0 ** (logits - logits.amin(-1, keepdim=True)).double()).sum(-1)
    prime = 2_147_483_647
    signed = torch.where(exact > prime // 2, exact - prime, exact)
    assert torch.allclose(floating * sums, signed.double())


def test_scores_of_width_one_are_outer_products() -> None:
    """Every head's tensor has rank one, and is symmetric in the keys' axes just where one key serves for all."""
    for scores, same in (("width one", False), ("width one, shared", True)):
        tensors = random_scores(5, 3, 3, scores, 0).unflatten(1, (3, 3, 3)).double()  # type: ignore[arg-type]
        assert [int(numerical_rank(one.flatten(1))) for one in tensors] == [1] * 5
        assert torch.equal(tensors, tensors.mT) == same


def test_a_shared_context_is_drawn_until_its_tokens_are_independent() -> None:
    """Two tokens of two small whole numbers are dependent in one draw of seven."""
    assert [exact_rank(1, 2, 2, 2, 5, seed) for seed in range(30)] == [capacity_bound(1, 2, 2, 2)] * 30 == [2] * 30
    assert exact_rank(1, 1, 1, 2, 1, 0) == 1
