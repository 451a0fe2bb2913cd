"""A small model that is no attention, for the general certificate of Lemma B.1.

Output a is ``Σ_h v_h[a] <u_h, z_n> <w_h, s>`` with s the sum of all tokens. It is linear in the d² features
``z_n ⊗ s``, with coefficients ``Σ_h v_h[a] u_h w_hᵀ``.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import least_squares
from torch import Tensor

from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require


@dataclass(frozen=True)
class Quadratic:
    """The parameters of one model.

    Attributes:
        outputs: v_h.
        last: u_h, read against the last token.
        total: w_h, read against the sum of the tokens.
    """

    outputs: Float[Tensor, "heads out"]
    last: Float[Tensor, "heads width"]
    total: Float[Tensor, "heads width"]

    @classmethod
    def random(cls, heads: int, width: int, seed: Seed) -> Self:
        """Draw Gaussian parameters of unit scale, as many outputs as features.

        Raises:
            ParameterError: heads or width below 1.
        """
        require(heads=(heads, 1, None), width=(width, 1, None))
        source = generator(seed)
        return cls(*(normal(heads, width, seed=source) for _ in range(3)))

    def __call__(self, tokens: Float[Tensor, "... tokens width"]) -> Float[Tensor, "... out"]:
        """Compute the output, head by head."""
        products = (tokens[..., -1, :] @ self.last.mT) * (tokens.sum(dim=-2) @ self.total.mT)
        return products @ self.outputs

    @staticmethod
    def features(tokens: Float[Tensor, "... tokens width"]) -> Float[Tensor, "... width_squared"]:
        """The features ``z_n ⊗ s``, the entries of the last token slowest."""
        return (tokens[..., -1, :, None] * tokens.sum(dim=-2)[..., None, :]).flatten(-2)

    @property
    def coefficients(self) -> Float[Tensor, "out width_squared"]:
        """The coefficients p of the model in its features."""
        return torch.einsum("ha,hj,hk->ajk", self.outputs, self.last, self.total).flatten(1)

    def fit(self, tokens: Float[Tensor, "batch tokens width"], labels: Float[Tensor, "batch out"]) -> "Quadratic":
        """A local minimum of the squared loss from this start (Levenberg and Marquardt, in float64 on the CPU)."""
        parts = (self.outputs, self.last, self.total)
        sizes = [part.numel() for part in parts]

        def model(flat: Tensor) -> Quadratic:
            shaped = zip(flat.split(sizes), parts, strict=True)
            return Quadratic(*(entries.reshape(part.shape) for entries, part in shaped))

        inputs, targets = self.features(tokens).double().cpu(), labels.double().cpu()

        def residual(flat: NDArray[np.float64]) -> NDArray[np.float64]:
            return (inputs @ model(torch.from_numpy(flat)).coefficients.mT - targets).flatten().numpy()

        flat = torch.cat([part.flatten() for part in parts]).double().cpu().numpy()
        result = least_squares(residual, flat, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15)
        return model(torch.from_numpy(result.x).to(labels))
