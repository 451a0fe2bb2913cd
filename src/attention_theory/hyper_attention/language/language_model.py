"""A small GPT around any attention block: the network of Tables 1 and 2."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from attention_theory.hyper_attention.layers.hyper_attention import HyperAttention
from attention_theory.hyper_attention.layers.hyper_feature_attention import HyperFeatureAttention
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require

#: Attention blocks by the name of the row, built for a width. Table 1: one head.
TABLE_1: dict[str, Callable[[int], nn.Module]] = {
    "Self-Attention": lambda width: HyperFeatureAttention(width, 1, 1),
    "HyperFeatureAttention": lambda width: HyperFeatureAttention(width, 1, 4),
    "HyperAttention": lambda width: HyperAttention(width),
    "HyperAttention (no sharing)": lambda width: HyperAttention(width, sharing=False),
}

#: Table 2 counts orders from 2 for self-attention, so its order 3 is two factors.
TABLE_2: dict[str, Callable[[int], nn.Module]] = {
    "SA": lambda width: HyperFeatureAttention(width, 3, 1),
    "HFA": lambda width: HyperFeatureAttention(width, 3, 2),
    "HFA_v2": lambda width: HyperFeatureAttention(width, 4, [1, 1, 2, 2]),
}

#: The same printed models on matched parameters, and the second reading of Table 1's order 4: three factors.
TABLE_1_VARIANTS: dict[str, Callable[[int], nn.Module]] = {
    "HyperFeatureAttention, three factors": lambda width: HyperFeatureAttention(width, 1, 3),
    "HyperAttention (no sharing), narrower": lambda width: HyperAttention(width, rank=2 * width // 3, sharing=False),
}


class _NoAttention(nn.Module):
    """A block that adds nothing: a token sees no other (the floor under Tables 1 and 2)."""

    def forward(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        return torch.zeros_like(x)


class _MeanOfThePast(nn.Module):
    """Attention without queries and keys: every token gets the mean of the values up to its position.

    Its weights are those of a softmax before its scores are learned: the threshold for attention in Tables 1 and 2.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.values, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        seen = torch.arange(1, x.shape[1] + 1, device=x.device, dtype=x.dtype)
        return self.out(self.values(x).cumsum(dim=1) / seen[:, None])


#: Attention is useful as far as a model with it is better than these.
BASELINES: dict[str, Callable[[int], nn.Module]] = {
    "no attention": lambda width: _NoAttention(),
    "mean of the past": _MeanOfThePast,
}


class Block(nn.Module):
    """Attention and a two-layer perceptron, each after a normalisation and added to its input (Section 7.2)."""

    def __init__(self, width: int, attention: nn.Module) -> None:
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = attention
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        x = x + self.attention(self.before_attention(x))
        return x + self.mlp(self.before_mlp(x))


class LanguageModel(nn.Module):
    """Token and position embeddings, blocks, and a head that shares the token embedding.

    The paper gives width, window, vocabulary and schedule and names GPT-3's small model; what it leaves open is filled
    in as there: normalisation before each part, learned positions, no dropout, weights drawn with deviation 0.02 and
    the last map of every part divided by the root of twice the depth.

    Args:
        vocabulary: the number of tokens.
        window: the most tokens in a sequence.
        width: the features of a token.
        attention: makes the attention block of each layer, given the width.
        layers: the number of blocks.
        seed: of the weights.

    Raises:
        ParameterError: fewer than two tokens in the vocabulary, or no place, feature or block.
    """

    def __init__(
        self,
        vocabulary: int,
        window: int,
        width: int,
        attention: Callable[[int], nn.Module],
        layers: int = 1,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        require(vocabulary=(vocabulary, 2, None), window=(window, 1, None))
        require(width=(width, 1, None), layers=(layers, 1, None))
        with torch.random.fork_rng(devices=[]):  # the modules draw weights of their own, which are drawn anew below
            self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(window, width)
            self.blocks = nn.Sequential(*(Block(width, attention(width)) for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
        self._draw_weights(layers, generator(seed))

    def _draw_weights(self, layers: int, draw: Generator) -> None:
        for name, value in self.named_parameters():
            if value.ndim > 1:
                is_last = name.endswith(("attention.out.weight", "mlp.2.weight"))
                nn.init.normal_(value, std=0.02 / (2 * layers) ** 0.5 if is_last else 0.02, generator=draw)
            elif name.endswith("bias"):
                nn.init.zeros_(value)

    def forward(self, tokens: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length vocabulary"]:
        """The logits of the token after each one."""
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        return self.norm(self.blocks(x)) @ self.tokens.weight.T

    def attention_parameters(self) -> int:
        """The parameters of the attention blocks alone, which the caption of Table 1 compares."""
        return sum(value.numel() for name, value in self.named_parameters() if ".attention." in name)
