"""The rank of the features on few tokens, against ranks in whole numbers and against the full count."""

from collections.abc import Callable

import pytest
import torch

from attention_theory.bridges.few_tokens import ordered_rank_on_tokens, rank_on_tokens, shape_dimension
from attention_theory.bridges.hyper_features import hyper_feature_count, hyper_features
from attention_theory.hyper_attention.layers.sums import Sum
from attention_theory.numerics import modular_rank
from attention_theory.randomness import generator


@pytest.mark.parametrize(
    ("shape", "width", "dimension"), [((2,), 3, 6), ((1, 1), 3, 3), ((2, 1), 3, 8), ((2, 2, 1), 2, 0), ((), 4, 1)]
)
def test_dimensions(shape: tuple[int, ...], width: int, dimension: int) -> None:
    assert shape_dimension(shape, width) == dimension


@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_the_rank_is_full_just_if_tokens_are_as_many_as_order_or_width(width: int, order: int) -> None:
    full = hyper_feature_count(width, order)
    for tokens in range(1, order + 2):
        assert (rank_on_tokens(width, order, tokens) == full) == (tokens >= min(width, order))


@pytest.mark.parametrize(("width", "order"), [(1, 3), (2, 3), (3, 3), (2, 4), (3, 2)])
@pytest.mark.parametrize(("sum_over", "predicted"), [("all", rank_on_tokens), ("le", ordered_rank_on_tokens)])
def test_ranks_in_whole_numbers(width: int, order: int, sum_over: Sum, predicted: Callable[..., int]) -> None:
    source, full = generator(0), hyper_feature_count(width, order, sum_over)
    for tokens in range(1, order + 1):
        whole = torch.randint(-9, 10, (full + 4, tokens, width), generator=source)
        found = modular_rank(hyper_features(whole[:, -1], whole, order, sum_over, scaled=False))
        assert found == predicted(width, order, tokens)
    assert predicted(width, order, order) == full
