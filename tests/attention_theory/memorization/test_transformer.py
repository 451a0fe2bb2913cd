import pytest
import torch

from attention_theory.memorization.transformer import TransformerLayer, cast, random_layer
from attention_theory.randomness import normal


def literal(layer: TransformerLayer, tokens: torch.Tensor, causal: bool) -> torch.Tensor:
    """One text, one head after another."""
    inside = layer.attention_norm(tokens) if layer.order == "pre" else tokens
    size = tokens.shape[1] // layer.heads
    parts = []
    for h in range(layer.heads):
        own = slice(h * size, (h + 1) * size)
        query, key, value = (part(inside)[:, own] for part in (layer.query, layer.key, layer.value))
        scores = query @ key.T / size**0.5
        if causal:
            scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf)
        parts.append(scores.softmax(-1) @ value)
    middle = tokens + layer.output(torch.cat(parts, dim=1))
    if layer.order == "post":
        middle = layer.attention_norm(middle)
    if layer.up is None or layer.down is None or layer.forward_norm is None:
        return middle
    inside = layer.forward_norm(middle) if layer.order == "pre" else middle
    forward = layer.down(torch.nn.functional.gelu(layer.up(inside)))
    return middle + forward if layer.order == "pre" else layer.forward_norm(middle + forward)


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("causal", [False, True])
def test_both_ways_are_the_literal_layer(order: str, causal: bool) -> None:
    layer = cast(random_layer(12, 3, seed=0, order=order, spread=0.5), torch.float64)  # type: ignore[arg-type]
    tokens = normal(4, 5, 12, seed=1)
    everywhere = layer.everywhere(tokens, causal)
    assert torch.allclose(everywhere, torch.stack([literal(layer, text, causal) for text in tokens]), atol=1e-12)
    position = -1 if causal else 0
    assert torch.allclose(layer.at(tokens, position), everywhere[:, position], atol=1e-12)
