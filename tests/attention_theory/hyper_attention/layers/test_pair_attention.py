import torch
from torch import Tensor

from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.sums import Sum
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention
from attention_theory.measure import matrix_operations, peak_bytes
from attention_theory.randomness import generator, normal


def inputs(tokens: int, rank: int = 4, features: int = 3, seed: int = 0, lead: tuple[int, ...] = (2,)) -> list[Tensor]:
    draw = generator(seed)
    widths = [rank] * 3 + [features] * 2
    return [normal(*lead, tokens, width, seed=draw).requires_grad_() for width in widths]


def literal(x: list[Tensor], sum_over: Sum, causal: bool, scale: float = 0.7) -> Tensor:
    return tuple_attention(x[0], x[1:3], x[3:], sum_over, causal, scale)


def test_large_scores_do_not_overflow() -> None:
    x = inputs(6)
    ours = pair_attention(*x, scale=1e4)
    assert ours.isfinite().all()
    torch.testing.assert_close(ours, literal(x, "ge", True, 1e4), rtol=0, atol=1e-12)


def test_batch_dimensions_broadcast() -> None:
    q, k1, k2, v1, v2 = inputs(4, lead=(2, 3))
    ours = pair_attention(q, k1[:1], k2[:1], v1[:1], v2[:1])
    rows = [pair_attention(q[b], k1[0], k2[0], v1[0], v2[0]) for b in range(2)]
    torch.testing.assert_close(ours, torch.stack(rows), rtol=0, atol=1e-13)


def test_one_position_at_a_time_does_exactly_the_work_of_the_allowed_triples() -> None:
    tokens, rank = 12, 5
    x = [one.detach() for one in inputs(tokens, rank, rank, lead=(1,))]
    triples = tokens * (tokens + 1) * (tokens + 2) // 6
    assert matrix_operations(lambda: pair_attention(*x, block=1)) == 4 * rank * triples


def test_memory_is_a_block_and_not_the_triples() -> None:
    x = inputs(64, rank=8, features=8, lead=(1,))
    ours = peak_bytes(lambda: torch.autograd.grad(pair_attention(*x, block=1).sum(), x))
    theirs = peak_bytes(lambda: torch.autograd.grad(literal(x, "ge", True).sum(), x))
    assert ours < 8 * 64**3
    assert 10 * ours < theirs


def test_scores_that_all_overflow_are_seen_and_not_taken_for_an_empty_sum() -> None:
    ones = torch.ones(1, 3, 1)
    assert pair_attention(-1e30 * ones, 1e30 * ones, ones, ones, ones).isnan().all()
    assert pair_attention(-1e30 * ones, 1e30 * ones, ones, ones, ones, sum_over="gt")[0, 0] == 0
