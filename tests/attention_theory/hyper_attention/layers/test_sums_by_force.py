"""Every form of the sums over tuples against lists of tuples picked by comparing positions, one query at a time.

The lists are made here, from the words of the paper, and share no mask with the package.
"""

import itertools
import operator
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from attention_theory.hyper_attention.layers._window_attention import window_attention
from attention_theory.hyper_attention.layers.linear_hyper_attention import aggregate_tuples, linear_hyper_attention
from attention_theory.hyper_attention.layers.linear_sums import cubic_pair_sum, linear_pair_sum
from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.sums import SUMS, Sum, rows_without_tuple
from attention_theory.hyper_attention.layers.taylor_features import approximate_pair_attention
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention
from attention_theory.randomness import generator, normal

STANDS: dict[Sum, Callable[[int, int], bool]] = {
    "all": lambda first, second: True,
    "le": operator.le,
    "lt": operator.lt,
    "ge": operator.ge,
    "gt": operator.gt,
}
LENGTHS = [1, 2, 4]


def tuples(
    tokens: int,
    members: int,
    sum_over: Sum,
    query: int,
    causal: bool,
    window: Sequence[int] | None = None,
    hidden: Tensor | None = None,
) -> list[tuple[int, ...]]:
    """The tuples of positions in the sum of one query."""
    reach = query + 1 if causal else tokens
    return [
        chosen
        for chosen in itertools.product(range(reach), repeat=members)
        if all(STANDS[sum_over](a, b) for a, b in itertools.pairwise(chosen))
        and all(position > query - length for position, length in zip(chosen, window or (), strict=False))
        and not (hidden is not None and hidden[query, list(chosen)].any())
    ]


def by_force(
    q: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor],
    sum_over: Sum,
    causal: bool,
    softmax: bool,
    window: Sequence[int] | None = None,
    hidden: Tensor | None = None,
) -> Tensor:
    """The sum of each query over its list of tuples, weighed by the score or by the softmax of the scores."""
    rows = []
    for query in range(len(q)):
        chosen = torch.tensor(tuples(len(q), len(keys), sum_over, query, causal, window, hidden)).reshape(-1, len(keys))
        if not len(chosen):
            rows.append(torch.zeros_like(values[0][0]))
            continue
        product, mixed = q[query].expand(len(chosen), -1), torch.ones_like(values[0][:1])
        for member, (key, value) in enumerate(zip(keys, values, strict=True)):
            product, mixed = product * key[chosen[:, member]], mixed * value[chosen[:, member]]
        weights = product.sum(1)
        if softmax:
            weights = (weights - weights.max()).exp()
            weights = weights / weights.sum()
        rows.append((weights[:, None] * mixed).sum(0))
    return torch.stack(rows)


def rows_of(tokens: int, members: int, scale: float = 1.0, seed: int = 0) -> list[Tensor]:
    """A query, ``members`` keys and as many values."""
    draw = generator(seed)
    widths = [3] * (members + 1) + [2] * members
    return [(scale * normal(tokens, width, seed=draw)).requires_grad_() for width in widths]


def assert_equal_with_gradients(ours: Tensor, theirs: Tensor, inputs: list[Tensor], atol: float) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)
    grad = normal(*ours.shape, seed=9)
    mine = torch.autograd.grad(ours, inputs, grad, allow_unused=True)
    other = (
        torch.autograd.grad(theirs, inputs, grad, retain_graph=True, allow_unused=True)
        if theirs.requires_grad
        else [None] * 9
    )
    for one, two, x in zip(mine, other, inputs, strict=False):
        assert one is None or one.isfinite().all()
        zero = torch.zeros_like(x)
        torch.testing.assert_close(zero if one is None else one, zero if two is None else two, rtol=0, atol=10 * atol)


@pytest.mark.parametrize("tokens", LENGTHS)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("sum_over", SUMS)
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_softmax_of_every_order_and_sum(order: int, sum_over: Sum, causal: bool, tokens: int) -> None:
    x = rows_of(tokens, order - 1)
    expected = by_force(x[0], x[1:order], x[order:], sum_over, causal, softmax=True)
    ours = tuple_attention(x[0], x[1:order], x[order:], sum_over, causal)
    assert_equal_with_gradients(ours, expected, x, 1e-12)


@pytest.mark.parametrize("tokens", LENGTHS)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("sum_over", SUMS)
def test_every_form_of_order_three(sum_over: Sum, causal: bool, tokens: int) -> None:
    x = rows_of(tokens, 2)
    expected = by_force(x[0], x[1:3], x[3:], sum_over, causal, softmax=True)
    for block in (None, 1, 3):
        ours = pair_attention(*x, sum_over=sum_over, causal=causal, block=block)
        assert_equal_with_gradients(ours, expected, x, 1e-12)
    linear = by_force(x[0], x[1:3], x[3:], sum_over, causal, softmax=False)
    for form in (linear_pair_sum, cubic_pair_sum):
        assert_equal_with_gradients(form(*x, sum_over=sum_over, causal=causal), linear, x, 1e-12)
    small = rows_of(tokens, 2, scale=0.3)
    expected = by_force(small[0], small[1:3], small[3:], sum_over, causal, softmax=True)
    q, k1, k2, v1, v2 = small
    ours = approximate_pair_attention(q, k1, k2, v1, v2, 8, sum_over=sum_over, causal=causal)
    assert_equal_with_gradients(ours, expected, small, 1e-10)


@pytest.mark.parametrize("window", [None, (1, 1), (2, 3), (4, 2), (9, 9)])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("sum_over", SUMS)
def test_hidden_tokens_and_windows(sum_over: Sum, causal: bool, window: tuple[int, int] | None) -> None:
    causal |= window is not None
    x, tokens = rows_of(5, 2), 5
    hidden = torch.rand(tokens, tokens, generator=generator(1)) < 0.4
    hidden[2] = True
    expected = by_force(x[0], x[1:3], x[3:], sum_over, causal, softmax=True, window=window, hidden=hidden)
    literal = tuple_attention(x[0], x[1:3], x[3:], sum_over, causal, window=window, hidden=hidden)
    assert_equal_with_gradients(literal, expected, x, 1e-12)
    if window is None:
        for block in (None, 1, 3):
            ours = pair_attention(*x, sum_over=sum_over, causal=causal, hidden=hidden, block=block)
            assert_equal_with_gradients(ours, expected, x, 1e-12)
    else:
        ours = window_attention(*x, window=window, sum_over=sum_over, hidden=hidden)
        assert_equal_with_gradients(ours, expected, x, 1e-12)
    empty = rows_without_tuple(tokens, 2, sum_over, causal, window=window, hidden=hidden)
    lists = [tuples(tokens, 2, sum_over, query, causal, window, hidden) for query in range(tokens)]
    assert empty is not None
    assert empty.tolist() == [not chosen for chosen in lists]


@pytest.mark.parametrize("tokens", LENGTHS)
@pytest.mark.parametrize("sum_over", SUMS)
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_full_tensors_of_every_order_and_sum(order: int, sum_over: Sum, tokens: int) -> None:
    draw = generator(order)
    effect, weights = normal(*[2] * order, seed=draw), normal(*[2] * (order - 1), 3, seed=draw)
    symbols = torch.randint(2, (tokens,), generator=draw)
    expected = torch.zeros(tokens, 3, dtype=torch.float64)
    for query in range(tokens):
        for chosen in tuples(tokens, order - 1, sum_over, query, causal=False):
            where = tuple(int(symbols[j]) for j in chosen)
            expected[query] += effect[(int(symbols[query]), *where)] * weights[where]
    torch.testing.assert_close(aggregate_tuples(symbols, effect, weights, sum_over), expected, rtol=0, atol=1e-12)
    hot = torch.eye(2, dtype=torch.float64)[symbols]
    torch.testing.assert_close(linear_hyper_attention(hot, effect, weights, sum_over), expected, rtol=0, atol=1e-12)
