"""Small decoders of the Llama kind for Section 6.3: RMS normalisation, rotary positions, gated feed-forward layers.

Several decoders of one size are kept as a stack, and computed at once: the first axis of every weight counts them. None
sees another.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu

from attention_theory.encodings import rotate
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import refuse_unless, require, require_some


@dataclass(frozen=True)
class DecoderSize:
    """Attributes:
    vocabulary: number of tokens.
    width: d, a multiple of twice the heads.
    heads: attention heads.
    layers: at least 1.
    feed_forward: the width of the feed-forward layers; 8/3 of the width unless given, rounded up to a multiple of 8.
    rotary: the base of the rotary positions: their wavelengths go from 2π to 2π times it.

    Raises:
        ParameterError: a size out of its range, or a width that is no multiple of twice the heads.
    """

    vocabulary: int
    width: int
    heads: int
    layers: int
    feed_forward: int | None = None
    rotary: float = 10_000.0

    def __post_init__(self) -> None:
        require(vocabulary=(self.vocabulary, 2, None), heads=(self.heads, 1, None), layers=(self.layers, 1, None))
        require(width=(self.width, 2, None), rotary=(self.rotary, 1.0, None))
        require(feed_forward=(self.inner, 1, None))
        refuse_unless(
            self.width % (2 * self.heads) == 0,
            f"width must be a multiple of twice the heads, got {self.width} and {self.heads} heads",
        )

    @property
    def inner(self) -> int:
        """The feed-forward width."""
        return -(-8 * self.width // 24) * 8 if self.feed_forward is None else self.feed_forward

    @property
    def weights(self) -> int:
        """Weights in the layers, which set the cost: six operations for each weight and token in training."""
        return self.layers * self.width * (4 * self.width + 3 * self.inner)


class Decoders(nn.Module):
    """A stack of decoders: logits for the next token at the last ``outputs`` places. float32; one seed for each.

    The weights of a decoder depend on its own seed alone.

    Raises:
        ParameterError: no seed.
    """

    def __init__(self, size: DecoderSize, seeds: Sequence[Seed]) -> None:
        super().__init__()
        require_some(seeds=seeds)
        self.size = size
        draws = [generator(seed) for seed in seeds]

        def matrix(inputs: int, outputs: int, scale: float) -> nn.Parameter:
            drawn = [normal(inputs, outputs, seed=source, dtype=torch.float32) for source in draws]
            return nn.Parameter(scale * torch.stack(drawn))

        width, inner, layers = size.width, size.inner, range(size.layers)
        self.embedding = matrix(size.vocabulary, width, 1.0)
        self.attend = nn.ParameterList([matrix(width, 3 * width, width**-0.5) for _ in layers])
        self.mix = nn.ParameterList([matrix(width, width, width**-0.5) for _ in layers])
        self.expand = nn.ParameterList([matrix(width, 2 * inner, width**-0.5) for _ in layers])
        self.contract = nn.ParameterList([matrix(inner, width, inner**-0.5) for _ in layers])
        ones = [nn.Parameter(torch.ones(len(seeds), width, 1)) for _ in range(2 * size.layers + 1)]
        self.gains = nn.ParameterList(ones)
        self.unembedding = matrix(width, size.vocabulary, width**-0.5)

    def forward(
        self, tokens: Int[Tensor, "decoders batch tokens"], outputs: int
    ) -> Float[Tensor, "decoders batch outputs vocabulary"]:
        """Only what the outputs need is computed: in the last layer the queries are those of the last places.

        What the first layer attends with depends on the token alone: it is computed once for each of the vocabulary.
        """
        size, length = self.size, tokens.shape[-1]
        rows = (tokens[..., None] == torch.arange(size.vocabulary, device=tokens.device)).to(self.embedding.dtype)
        stream = _through(rows, self.embedding)
        for layer in range(size.layers):
            maps, kept = self._attending(layer), length if layer + 1 < size.layers else outputs
            if layer == 0:
                maps = [rms_norm(self.embedding, (size.width,)).bmm(matrix) for matrix in maps]
            else:
                rows = rms_norm(stream, (size.width,))
            stream = stream if kept == length else stream[:, :, -kept:]
            stream = stream + _through(self._attended(rows, maps, kept), self.mix[layer])
            opened = self._normed(stream, 2 * layer + 1, self.expand[layer])
            gate, value = opened.chunk(2, dim=-1)
            stream = stream + _through(silu(gate) * value, self.contract[layer])
        return self._normed(stream, 2 * size.layers, self.unembedding)

    def _normed(self, stream: Tensor, number: int, weights: Tensor) -> Tensor:
        """Normalised, then through a matrix, with the gains of the normalisation taken into the matrix."""
        return _through(rms_norm(stream, (self.size.width,)), self.gains[number] * weights)

    def _attending(self, layer: int) -> list[Float[Tensor, "decoders width width"]]:
        """The maps to queries, keys and values. In the first two the features that turn together are neighbours."""
        *turned, values = (self.gains[2 * layer] * self.attend[layer]).chunk(3, dim=-1)
        pairs = (matrix.unflatten(-1, (self.size.heads, 2, -1)).transpose(-1, -2).flatten(-3) for matrix in turned)
        return [*pairs, values]

    def _attended(
        self, rows: Float[Tensor, "decoders batch tokens inputs"], maps: Sequence[Tensor], kept: int
    ) -> Float[Tensor, "decoders batch kept width"]:
        length = rows.shape[2]
        queries = self._turned(_through(rows[:, :, length - kept :], maps[0]), length - kept)
        keys, values = self._turned(_through(rows, maps[1]), 0), self._by_head(_through(rows, maps[2]))
        if kept == length:
            mixed = scaled_dot_product_attention(queries, keys, values, is_causal=True)
        else:
            seen = torch.ones(kept, length, dtype=torch.bool, device=rows.device).tril(length - kept)
            mixed = scaled_dot_product_attention(queries, keys, values, attn_mask=seen)
        return mixed.transpose(1, 2).flatten(2).unflatten(0, rows.shape[:2])

    def _turned(
        self, part: Float[Tensor, "decoders batch tokens width"], first: int
    ) -> Float[Tensor, "rows heads tokens each"]:
        """By head, with rotary positions, the first of which is given: each pair is a complex number, and is turned."""
        each, length = self.size.width // self.size.heads, part.shape[2]
        unit = torch.zeros(length, each, dtype=part.dtype, device=part.device)
        unit[:, : each // 2] = 1
        phases = torch.complex(*rotate(unit, first, self.size.rotary).chunk(2, dim=-1)).repeat(1, self.size.heads)
        return self._by_head(
            torch.view_as_real(torch.view_as_complex(part.unflatten(-1, (-1, 2))) * phases).flatten(-2)
        )

    def _by_head(self, part: Float[Tensor, "decoders batch tokens width"]) -> Float[Tensor, "rows heads tokens each"]:
        return part.flatten(0, 1).unflatten(-1, (self.size.heads, -1)).transpose(1, 2)


def _through(
    rows: Float[Tensor, "decoders batch tokens inputs"], weights: Float[Tensor, "decoders inputs outputs"]
) -> Float[Tensor, "decoders batch tokens outputs"]:
    """Each decoder's rows through its own matrix."""
    return rows.flatten(1, 2).bmm(weights).unflatten(1, rows.shape[1:3])
