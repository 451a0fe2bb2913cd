"""The population second moment of the features for independent entries, exactly (Lemma 4.2).

Λ follows from the moments of one token up to degree six, which are sums over the values of an entry: the cost does not
grow with the number of tokens.
"""

from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.model.features import pairs
from attention_theory.validation import require


@dataclass(frozen=True)
class EntryDistribution:
    """A distribution ν on finitely many values.

    Attributes:
        values: the support.
        weights: the probability of each value.
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]

    @classmethod
    def uniform(cls, *values: float) -> Self:
        """Give every value the same probability."""
        return cls(values, (1 / len(values),) * len(values))

    @classmethod
    def gaussian(cls) -> Self:
        """Take four nodes with the moments of a standard normal up to degree seven; Λ contains none above six."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(4)
        return cls(tuple(nodes.tolist()), tuple((weights / weights.sum()).tolist()))

    def moment(self, degree: int) -> float:
        """m_degree, the raw moment."""
        return sum(weight * value**degree for value, weight in zip(self.values, self.weights, strict=True))

    def second_moment(self, width: int, tokens: int, centred: bool = False) -> Float[Tensor, "psi psi"]:
        """``E[H Hᵀ]`` for n = ``tokens`` tokens of ``width`` independent entries each.

        Args:
            width: d, at least 1.
            tokens: n, at least 1.
            centred: as in the proof of Lemma 4.2, subtract ``n m_2`` from every squared norm and divide by the root of
                n.

        Raises:
            ParameterError: width or tokens below 1.
        """
        require(width=(width, 1, None), tokens=(tokens, 1, None))
        token, chance = self._outcomes(width)
        j, k = pairs(width)
        square = token[:, j] * token[:, k]
        if centred:
            square = square - self.moment(2) * (j == k).double()
        # Moments of one token: s for its products of two entries, w for the last token's entries.
        s = chance @ square
        s_s = torch.einsum("c,cp,cq->pq", chance, square, square)
        w_w = torch.einsum("c,ca,cb->ab", chance, token, token)
        s_w_w = torch.einsum("c,cp,ca,cb->pab", chance, square, token, token)
        s_s_w_w = torch.einsum("c,cp,cq,ca,cb->pqab", chance, square, square, token, token)
        # The Gram entries are a sum over the n - 1 earlier tokens and the last one.
        earlier = tokens - 1
        sum_of_two = earlier * s_s + earlier * (earlier - 1) * torch.outer(s, s)
        moment = torch.einsum("pq,ab->pqab", sum_of_two, w_w) + s_s_w_w
        moment += earlier * torch.einsum("p,qab->pqab", s, s_w_w)
        moment += earlier * torch.einsum("q,pab->pqab", s, s_w_w)
        size = len(j) * width
        return moment.transpose(1, 2).reshape(size, size) / (tokens if centred else 1)

    def linear_feature_moments(self, tokens: int) -> tuple[float, float]:
        """The linear feature ``m_2 z_ℓ`` of the proof: the means of its square, and of its product with single ℓ.

        The single is ``(‖z_ℓ‖² - n m_2) z_ℓ / √n``. Every row of n = ``tokens`` entries is enumerated.

        Raises:
            ParameterError: tokens outside 1 to 8.
        """
        require(tokens=(tokens, 1, 8))
        rows, chance = self._outcomes(tokens)
        linear = self.moment(2) * rows[:, -1]
        single = (rows.square().sum(dim=1) - tokens * self.moment(2)) * rows[:, -1] / tokens**0.5
        return (chance @ linear.square()).item(), (chance @ (linear * single)).item()

    def _outcomes(self, entries: int) -> tuple[Float[Tensor, "outcomes entries"], Float[Tensor, " outcomes"]]:
        """All values of so many entries, and the probability of each."""
        outcomes = torch.tensor(list(product(self.values, repeat=entries)), dtype=torch.float64)
        return outcomes, torch.tensor(list(product(self.weights, repeat=entries)), dtype=torch.float64).prod(dim=1)
