"""Language transformers up to their first layer (Appendix J), and texts to feed them."""

import re
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from sklearn import datasets
from torch import Tensor

from attention_theory.memorization.transformer import Layer, Norm, random_layer
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require

#: The numbers of the two special tokens, in the texts made here.
CLASS_TOKEN, SEPARATOR = 0, 1


@dataclass(frozen=True)
class LanguageModel:
    """Tokens to vectors, and the first layer.

    Attributes:
        words: a vector for each token of the vocabulary.
        positions: learned encodings.
        segments: a vector for each of BERT's two sentences; None for GPT-2.
        norm: the normalisation of BERT's embeddings; None for GPT-2.
        layer: the first layer.
        causal: whether tokens look back only (GPT-2).
        separator: the number of the token that ends BERT's first sentence.
    """

    words: Float[Tensor, "vocabulary width"]
    positions: Float[Tensor, "positions width"]
    segments: Float[Tensor, "2 width"] | None
    norm: Norm | None
    layer: Layer
    causal: bool
    separator: int = SEPARATOR

    @property
    def query_position(self) -> int:
        """The class token of BERT, the last token of GPT-2."""
        return -1 if self.causal else 0

    def tokens(self, numbers: Int[Tensor, "texts tokens"]) -> Float[Tensor, "texts tokens width"]:
        """The embedding layer's output. The second segment begins after the first separator."""
        embedded = self.words[numbers] + self.positions[: numbers.shape[1]]
        if self.segments is not None:
            ends = numbers == self.separator
            after = ends.cumsum(dim=1) - ends.long()
            embedded = embedded + self.segments[after.clamp(max=1)]
        return embedded if self.norm is None else self.norm(embedded)

    def queries(
        self, numbers: Int[Tensor, "texts tokens"], depth: Literal[0, 1], chunk: int = 8
    ) -> Float[Tensor, "texts width"]:
        """The query's vector at the embedding (depth 0) or after the first layer (depth 1)."""
        rows = []
        for part in numbers.split(chunk):
            tokens = self.tokens(part)
            at = self.query_position
            rows.append(tokens[:, at] if depth == 0 else self.layer.at(tokens, at))
        return torch.cat(rows)

    def contexts(
        self, numbers: Int[Tensor, "texts tokens"], depth: Literal[0, 1]
    ) -> Float[Tensor, "texts tokens width"]:
        tokens = self.tokens(numbers)
        return tokens if depth == 0 else self.layer.everywhere(tokens, self.causal)


def random_language_model(
    kind: Literal["bert", "gpt2"], vocabulary: int, positions: int, width: int, heads: int, seed: Seed
) -> LanguageModel:
    """As these models are initialised: vectors from N(0, 0.02²).

    Raises:
        ParameterError: an unknown kind, fewer than 3 words or fewer than 2 positions.
    """
    require(kind=(kind, {"bert", "gpt2"}), vocabulary=(vocabulary, 3, None), positions=(positions, 2, None))
    draw = generator(seed)

    def gaussian(*shape: int) -> Tensor:
        return 0.02 * torch.randn(*shape, generator=draw)

    words, places = gaussian(vocabulary, width), gaussian(positions, width)
    if kind == "bert":
        segments = gaussian(2, width)
        return LanguageModel(words, places, segments, Norm(), random_layer(width, heads, draw, "post"), causal=False)
    return LanguageModel(words, places, None, None, random_layer(width, heads, draw), causal=True)


def bundled_words() -> Int[Tensor, " words"]:
    """The descriptions of scikit-learn's data sets as one stream of word numbers, from 2 up by first appearance."""
    names = ("iris", "diabetes", "digits", "linnerud", "wine", "breast_cancer")
    text = " ".join(getattr(datasets, f"load_{name}")()["DESCR"] for name in names)
    numbers: dict[str, int] = {}
    stream = [numbers.setdefault(word, len(numbers) + 2) for word in re.findall(r"\w+|[^\w\s]", text.lower())]
    return torch.tensor(stream)


def sample_texts(
    stream: Int[Tensor, " words"], kind: Literal["bert", "gpt2"], count: int, tokens: int, seed: Seed
) -> Int[Tensor, "texts tokens"]:
    """Pieces of the stream, no two alike: runs of words for GPT-2, "[class] first [separator] second" for BERT.

    The second sentence follows the first half of the time and is taken from elsewhere otherwise.

    Raises:
        ParameterError: fewer than 4 tokens, or a stream too short for so many different pieces.
    """
    require(tokens=(tokens, 4, len(stream) - 1), count=(count, 1, len(stream) - tokens))
    draw = generator(seed)
    starts = torch.randperm(len(stream) - tokens, generator=draw)[:count]
    if kind == "gpt2":
        return stream[starts[:, None] + torch.arange(tokens)]
    first = (tokens - 2) // 2
    second = tokens - 2 - first
    elsewhere = torch.randint(len(stream) - second, (count,), generator=draw)
    follows = torch.rand(count, generator=draw) < 0.5
    one = stream[starts[:, None] + torch.arange(first)]
    two = stream[torch.where(follows, starts + first, elsewhere)[:, None] + torch.arange(second)]
    special = torch.tensor([CLASS_TOKEN, SEPARATOR]).expand(count, 2)
    return torch.cat([special[:, :1], one, special[:, 1:], two], dim=1)
