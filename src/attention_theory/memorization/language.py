"""Language transformers layer by layer (Appendix J), and texts to feed them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.memorization.transformer import Norm, TransformerLayer, random_layer
from attention_theory.randomness import Seed, generator
from attention_theory.validation import ParameterError, refuse_unless, require

#: The numbers of the special tokens, in the texts made here.
_CLASS_TOKEN, _SEPARATOR = 0, 1

_CHARACTERS = 8  # of the text for a token: some twice what a word takes

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class PretrainedModel:
    """Tokens to vectors, and the layers.

    Attributes:
        words: a vector for each token of the vocabulary.
        positions: learned encodings.
        segments: a vector for each of BERT's two sentences; None for GPT-2.
        norm: the normalisation of BERT's embeddings; None for GPT-2.
        layers: the layers, the first one first.
        causal: whether tokens look back only (GPT-2).
        separator: the number of the token that ends BERT's first sentence.
        sentences: 1 where both sentences of BERT bear the first segment's vector, as its code does without a second
            one (Appendix J mentions none); 2 where the second begins after the first separator.
    """

    words: Float[Tensor, "vocabulary width"]
    positions: Float[Tensor, "positions width"]
    segments: Float[Tensor, "2 width"] | None
    norm: Norm | None
    layers: tuple[TransformerLayer, ...]
    causal: bool
    separator: int = _SEPARATOR
    sentences: Literal[1, 2] = 1

    @property
    def query_position(self) -> int:
        """The class token of BERT, the last token of GPT-2."""
        return -1 if self.causal else 0

    def tokens(self, numbers: Int[Tensor, "texts tokens"]) -> Float[Tensor, "texts tokens width"]:
        """The embedding layer's output."""
        embedded = self.words[numbers] + self.positions[: numbers.shape[1]]
        if self.segments is not None:
            ends = numbers == self.separator
            after = ends.cumsum(dim=1) - ends.long()
            embedded = embedded + self.segments[after.clamp(max=self.sentences - 1)]
        return embedded if self.norm is None else self.norm(embedded)

    def queries(self, numbers: Int[Tensor, "texts tokens"], depth: int, chunk: int = 8) -> Float[Tensor, "texts width"]:
        """The query's vector after ``depth`` layers; at the embedding for depth 0.

        Raises:
            ParameterError: more layers than the model has.
        """
        require(depth=(depth, 0, len(self.layers)))
        rows, at = [], self.query_position
        for part in numbers.split(chunk):
            tokens = self.contexts(part, max(0, depth - 1))
            rows.append(self.layers[depth - 1].at(tokens, at) if depth else tokens[:, at])
        return torch.cat(rows)

    def contexts(self, numbers: Int[Tensor, "texts tokens"], depth: int) -> Float[Tensor, "texts tokens width"]:
        """All tokens after ``depth`` layers.

        Raises:
            ParameterError: more layers than the model has.
        """
        require(depth=(depth, 0, len(self.layers)))
        tokens = self.tokens(numbers)
        for layer in self.layers[:depth]:
            tokens = layer.everywhere(tokens, self.causal)
        return tokens

    def independent_contexts(
        self, numbers: Int[Tensor, "texts tokens"], depth: int, chunk: int = 8
    ) -> Bool[Tensor, " texts"]:
        """Test whether the context of each text has full rank, in the precision of the weights (Assumption 2)."""
        ranks = [torch.linalg.matrix_rank(self.contexts(part, depth)) for part in numbers.split(chunk)]
        return torch.cat(ranks) == numbers.shape[1]

    def with_random_positions(self, seed: Seed) -> Self:
        """The same model with Gaussian encodings in place of the learned ones, of the same norm altogether."""
        drawn = torch.randn(self.positions.shape, generator=generator(seed)).to(self.positions)
        return replace(self, positions=drawn / drawn.norm() * self.positions.norm())


def random_language_model(
    kind: Literal["bert", "gpt2"],
    vocabulary: int,
    positions: int,
    width: int,
    heads: int,
    seed: Seed,
    depth: int = 1,
) -> PretrainedModel:
    """As these models are initialised: vectors from N(0, 0.02²).

    Raises:
        ParameterError: an unknown kind, fewer than 3 words, fewer than 2 positions or no layer.
    """
    require(depth=(depth, 1, None))
    require(kind=(kind, {"bert", "gpt2"}), vocabulary=(vocabulary, 3, None), positions=(positions, 2, None))
    draw = generator(seed)

    def gaussian(*shape: int) -> Tensor:
        return 0.02 * torch.randn(*shape, generator=draw)

    def layers(order: Literal["pre", "post"]) -> tuple[TransformerLayer, ...]:
        return tuple(random_layer(width, heads, draw, order) for _ in range(depth))

    words, places = gaussian(vocabulary, width), gaussian(positions, width)
    if kind == "bert":
        segments = gaussian(2, width)
        return PretrainedModel(words, places, segments, Norm(), layers("post"), causal=False)
    return PretrainedModel(words, places, None, None, layers("pre"), causal=True)


class WordNumbers:
    """Words and marks as numbers, in the order in which they are first met; the numbers below 2 are special tokens."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> list[int]:
        """The numbers of a text's words, in lower case; new words get new numbers."""
        known = self._numbers
        return [known.setdefault(word, len(known) + _SEPARATOR + 1) for word in _WORD.findall(text.lower())]

    @property
    def count(self) -> int:
        """The size of the vocabulary so far, the special tokens among it."""
        return len(self._numbers) + _SEPARATOR + 1


def sample_texts(
    source: str,
    kind: Literal["bert", "gpt2"],
    count: int,
    tokens: int,
    encode: Callable[[str], list[int]],
    seed: Seed,
    special: tuple[int, int] = (_CLASS_TOKEN, _SEPARATOR),
) -> Int[Tensor, "texts tokens"]:
    """Pieces that begin at different places of a long text: runs for GPT-2, "[class] one [separator] two" for BERT.

    The second sentence follows the first half of the time and is taken from elsewhere otherwise (Appendix J). No two
    pieces are alike, and the places are drawn from a grid of 8 characters a token, so that they do not overlap.

    Args:
        source: the text.
        kind: which of the two.
        count: the number of pieces.
        tokens: the length of each.
        encode: a text to its token numbers.
        seed: draws the places.
        special: BERT's class token and separator.

    Raises:
        ParameterError: fewer than 4 tokens, or a text too short for so many pieces.
    """
    require(tokens=(tokens, 4, None))
    span = _CHARACTERS * tokens
    require(count=(count, 1, max(0, len(source) // span - 1)))
    draw = generator(seed)
    places = (torch.randperm(len(source) // span - 1, generator=draw) * span).tolist()

    def piece(place: int, length: int) -> list[int]:
        """Whole tokens from the first space after a place on; more of the text where it has long words."""
        begin, reach = source.find(" ", place), span
        while len(numbers := encode((source[begin : begin + reach] + source[:reach])[:reach])) < length:
            refuse_unless(len(source) >= reach, f"source must have at least {reach} characters, got {len(source)}")
            reach *= 2
        return numbers[:length]

    first = (tokens - 2) // 2
    elsewhere = torch.randint(len(source) - span, (len(places),), generator=draw).tolist()
    follows = (torch.rand(len(places), generator=draw) < 0.5).tolist()
    rows: dict[tuple[int, ...], None] = {}
    for place, other, next_ in zip(places, elsewhere, follows, strict=True):
        run = piece(place, tokens if kind == "gpt2" else tokens - 2)
        if kind == "bert":
            second = run[first:] if next_ else piece(other, tokens - 2 - first)
            run = [special[0], *run[:first], special[1], *second]
        rows.setdefault(tuple(run))
        if len(rows) == count:
            return torch.tensor(list(rows))
    raise ParameterError(f"count must be at most the {len(rows)} different pieces of the text, got {count}")
