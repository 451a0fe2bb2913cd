"""Codes for words and for previous words (Assumption 2.2), and sentences as their sums."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.encodings import one_hot, random_orthonormal
from attention_theory.randomness import Seed, normal
from attention_theory.validation import require


@dataclass(frozen=True)
class Embedding:
    """E and Ẽ of Eq. (1), one row per token. ``U`` is ``word``: it gives the inner product with every word."""

    word: Float[Tensor, "tokens width"]
    previous: Float[Tensor, "tokens width"]

    @property
    def stacked(self) -> Float[Tensor, "codes width"]:
        """All codes as rows: the words, then the previous words."""
        return torch.cat([self.word, self.previous])

    def to(self, target: torch.dtype | torch.device | str) -> "Embedding":
        """The same codes in another type or on another device."""
        return Embedding(self.word.to(target), self.previous.to(target))

    def embed(self, tokens: Int[Tensor, "sentences length"]) -> Float[Tensor, "sentences length width"]:
        """``x_h = E(z_h) + Ẽ(z_{h-1})`` (Eq. 1). There is no word before the first: ``x_1 = E(z_1)``."""
        inputs = self.word[tokens]
        inputs[:, 1:] += self.previous[tokens[:, :-1]]
        return inputs


def embedding(tokens: int, width: int, codes: Literal["basis", "rotated"] = "basis", seed: Seed = 0) -> Embedding:
    """Codes that satisfy Assumption 2.2: 2N orthonormal vectors, axes or their random rotation.

    Raises:
        ParameterError: ``width`` below ``2 * tokens``, where no such vectors exist (Remark 2.3 prints d >= N).
    """
    require(tokens=(tokens, 1, None), codes=(codes, {"basis", "rotated"}))
    require(width=(width, 2 * tokens, None))
    rows = one_hot(2 * tokens, width) if codes == "basis" else random_orthonormal(2 * tokens, width, seed)
    return Embedding(rows[:tokens], rows[tokens:])


def random_units(tokens: int, width: int, seed: Seed) -> Embedding:
    """Random unit vectors, which are only nearly orthogonal, against Assumption 2.2.

    Raises:
        ParameterError: no token, or no coordinate.
    """
    require(tokens=(tokens, 1, None), width=(width, 1, None))
    rows = torch.nn.functional.normalize(normal(2 * tokens, width, seed=seed), dim=1)
    return Embedding(rows[:tokens], rows[tokens:])
