"""A small decoder of the Llama kind for Section 6.3: RMS normalisation, rotary positions, gated feed-forward layers."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu

from attention_theory.encodings import rotate
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require


@dataclass(frozen=True)
class DecoderSize:
    """Attributes:
    vocabulary: number of tokens.
    width: d, a multiple of twice the heads.
    heads: attention heads.
    layers: at least 1.

    Raises:
        ParameterError: a size out of its range, or a width that is no multiple of twice the heads.
    """

    vocabulary: int
    width: int
    heads: int
    layers: int

    def __post_init__(self) -> None:
        require(vocabulary=(self.vocabulary, 2, None), heads=(self.heads, 1, None), layers=(self.layers, 1, None))
        require(width_over_heads=(self.width % (2 * self.heads), [0]), width=(self.width, 2, None))

    @property
    def inner(self) -> int:
        """The feed-forward width, 8/3 of the width, rounded up to a multiple of 8."""
        return -(-8 * self.width // 24) * 8

    @property
    def weights(self) -> int:
        """Weights in the layers, which set the cost: six operations for each weight and token in training."""
        return self.layers * self.width * (4 * self.width + 3 * self.inner)


class Decoder(nn.Module):
    """Logits for the next token at the last ``outputs`` places. float32; weights drawn from a seed."""

    def __init__(self, size: DecoderSize, seed: Seed) -> None:
        super().__init__()
        self.size = size
        draws = generator(seed)

        def matrix(inputs: int, outputs: int) -> nn.Parameter:
            return nn.Parameter(inputs**-0.5 * normal(inputs, outputs, seed=draws, dtype=torch.float32))

        width, layers = size.width, range(size.layers)
        self.embedding = nn.Parameter(normal(size.vocabulary, width, seed=draws, dtype=torch.float32))
        self.attend = nn.ParameterList([matrix(width, 3 * width) for _ in layers])
        self.mix = nn.ParameterList([matrix(width, width) for _ in layers])
        self.expand = nn.ParameterList([matrix(width, 2 * size.inner) for _ in layers])
        self.contract = nn.ParameterList([matrix(size.inner, width) for _ in layers])
        self.gains = nn.ParameterList([nn.Parameter(torch.ones(width)) for _ in range(2 * size.layers + 1)])
        self.unembedding = matrix(width, size.vocabulary)

    def forward(self, tokens: Int[Tensor, "batch tokens"], outputs: int) -> Float[Tensor, "batch outputs vocabulary"]:
        """Only what the outputs need is computed: in the last layer the queries are those of the last places."""
        stream = self.embedding[tokens]
        width = self.size.width
        length = tokens.shape[1]
        for layer in range(self.size.layers):
            kept = length if layer + 1 < self.size.layers else outputs
            mixed = rms_norm(stream, (width,), self.gains[2 * layer]) @ self.attend[layer]
            queries, keys, values = (self._by_head(part) for part in mixed.chunk(3, dim=-1))
            queries, keys = rotate(queries)[:, :, -kept:], rotate(keys)
            seen = torch.ones(kept, length, dtype=torch.bool, device=tokens.device).tril(length - kept)
            attended = scaled_dot_product_attention(queries, keys, values, attn_mask=seen)
            stream = stream[:, -kept:] + attended.transpose(1, 2).flatten(2) @ self.mix[layer]
            gate, value = (rms_norm(stream, (width,), self.gains[2 * layer + 1]) @ self.expand[layer]).chunk(2, dim=-1)
            stream = stream + (silu(gate) * value) @ self.contract[layer]
        logits: Tensor = rms_norm(stream, (width,), self.gains[-1]) @ self.unembedding
        return logits

    def _by_head(self, part: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch heads tokens each"]:
        return part.unflatten(-1, (self.size.heads, -1)).transpose(1, 2)
