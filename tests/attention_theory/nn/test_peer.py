"""Order 3 against an independent implementation, the package ``simplicial-attention``."""

import pytest
import torch
from torch import Tensor

from attention_theory.nn import HyperAttention
from attention_theory.randomness import normal

peer = pytest.importorskip("simplicial_attention", reason="simplicial-attention is not installed (extra peer)")


def heads_of(module: HyperAttention, x: Tensor) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Queries, keys and values as the peer takes them, ``(batch, heads, tokens, rank)``."""
    parts = (module.queries, *module.keys, *module.values)
    queries, *others = (project(x).unflatten(-1, (-1, module.rank)).transpose(1, 2) for project in parts)
    return queries, others[:2], others[2:]


def block(**options: object) -> HyperAttention:
    torch.manual_seed(0)
    return HyperAttention(16, 4, sum_over="all", sharing=False, dtype=torch.float64, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("num_kv_heads", [4, 2])
def test_all_pairs_and_causal_pairs_are_the_peers(is_causal: bool, num_kv_heads: int) -> None:
    module, x = block(is_causal=is_causal, num_kv_heads=num_kv_heads), normal(2, 9, 16, seed=1)
    queries, keys, values = heads_of(module, x)
    mixed = peer.naive_two_simplicial_attend(queries, tuple(keys), tuple(values), causal=is_causal)
    torch.testing.assert_close(module(x), module.out(mixed.transpose(1, 2).flatten(2)), rtol=0, atol=1e-12)


def test_windows_are_the_peer_on_each_window() -> None:
    """The peer has windows for an accelerator alone, so it gets each query with the tokens of its windows."""
    window, x = (4, 3), normal(2, 9, 16, seed=1)
    module = block(window=window)
    queries, keys, values = heads_of(module, x)
    rows = []
    for i in range(9):
        seen = [slice(max(0, i + 1 - length), i + 1) for length in window]
        near = [tuple(x[:, :, at] for x, at in zip(pair, seen, strict=True)) for pair in (keys, values)]
        rows.append(peer.naive_two_simplicial_attend(queries[:, :, i : i + 1], *near))
    mixed = torch.cat(rows, dim=2)
    torch.testing.assert_close(module(x), module.out(mixed.transpose(1, 2).flatten(2)), rtol=0, atol=1e-12)
