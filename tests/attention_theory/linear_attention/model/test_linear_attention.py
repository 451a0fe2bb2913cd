"""The block for a network against the functions of the paper, and its causal form across chunks."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from attention_theory.linear_attention.model.linear_attention import _CHUNK, _ONE_CHUNK, LinearAttention
from attention_theory.linear_attention.model.mhla import mhla, mhla_every_token, random_heads
from attention_theory.randomness import normal

LENGTHS = [1, 3, _ONE_CHUNK, _ONE_CHUNK + 1, 6 * _CHUNK - 2]


def block(**options: bool) -> LinearAttention:
    return LinearAttention.from_heads(random_heads(3, 4, seed=0, out=2), **options)


@pytest.mark.parametrize("length", LENGTHS)
def test_the_three_forms_are_those_of_the_paper(length: int) -> None:
    tokens = normal(2, length, 4, seed=1)
    forms: list[tuple[dict[str, bool], Callable[..., Tensor]]] = [
        ({"is_causal": False}, mhla_every_token),
        ({}, partial(mhla_every_token, is_causal=True)),
        ({"last_token": True}, mhla),
    ]
    for options, form in forms:
        layer = block(**options)
        torch.testing.assert_close(layer(tokens), form(layer.heads, tokens), rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
def test_linear_time_gives_what_every_score_gives(length: int, is_causal: bool) -> None:
    layer, tokens = block(is_causal=is_causal), normal(2, length, 4, seed=1)
    padding = (torch.arange(length) % 5 == 1).expand(2, -1)
    by_scores, weights = layer(tokens, padding, need_weights=True)
    torch.testing.assert_close(layer(tokens, padding), by_scores, rtol=1e-11, atol=1e-9)
    assert weights.shape == (2, 3, length, length)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 1e200])
def test_a_bad_token_reaches_no_row_before_it_in_any_chunk(bad: float) -> None:
    layer, tokens = block(), normal(6 * _CHUNK, 4, seed=1).requires_grad_()
    at = _CHUNK + 5
    broken = tokens.detach().clone()
    broken[at] = bad
    broken.requires_grad_()
    assert not layer(broken)[at:].isfinite().all(-1).any()
    torch.testing.assert_close(layer(broken)[:at], layer(tokens)[:at])
    ours, clean = (torch.autograd.grad(layer(x)[:at].sum(), x)[0] for x in (broken, tokens))
    torch.testing.assert_close(ours[:at], clean[:at])


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_last_token_is_the_last_that_is_not_padding(side: str) -> None:
    layer, tokens = block(last_token=True), normal(3, 5, 4, seed=1)
    padding = torch.zeros(3, 5, dtype=torch.bool)
    real = slice(0, 3) if side == "right" else slice(2, 5)
    padding[0] = True
    padding[0, real] = False
    padding[2] = True
    out = layer(tokens.masked_fill(padding[..., None], torch.nan), padding)
    torch.testing.assert_close(out[0], layer(tokens[0, real]))
    torch.testing.assert_close(out[1], layer(tokens[1]))
    assert out[2].abs().max() == 0
