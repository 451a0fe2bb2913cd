"""Algorithm 1 as a kernel method: regression on the cubic features without ever writing them down (Section 3).

The feature matrix of an input is ``𝒳(Z) = G ⊗ z_n`` with ``G = Z Zᵀ``, so the inner product of two of them is

    ``<𝒳(Z), 𝒳(Z')> = <G, G'> <z_n, z'_n> = ‖Zᵀ Z'‖_F² <z_n, z'_n>``,

at any width. The Gram matrix has the rank of Λ_D and shows whether the data determine the output at an input.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from scipy.linalg.lapack import dpstrf
from torch import Tensor

from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.validation import require, require_finite, require_shape, require_some

#: The largest error at a sample, over the largest label, that counts as rounding.
_AGREE = 1e-11


def kernel(
    left: Float[Tensor, "inputs tokens width"], right: Float[Tensor, "others _tokens width"]
) -> Float[Tensor, "inputs others"]:
    """The inner products ``‖Zᵀ Z'‖_F² <z_n, z'_n>`` of the features of two sets of inputs."""
    products = torch.einsum("isw,jtw->ijst", left, right)
    return products.square().sum(dim=(-2, -1)) * products[..., -1, -1]


@dataclass(frozen=True)
class KernelFit:
    """Least squares of least norm in the span of the samples, and what the samples say about other inputs.

    Attributes:
        basis: the samples, as many as the rank, whose features span those of all.
        factor: the triangle L with ``L Lᵀ`` the Gram matrix of the basis.
        coefficients: the solution in the orthonormal coordinates that L gives.
        smallest: the least squared distance of a basis sample from those before it, over the largest ``k(Z, Z)``.
        dropped: the largest squared distance of a sample left out from the basis, in the same unit: rounding.
    """

    basis: list[int]
    factor: Float[Tensor, "rank rank"]
    coefficients: Float[Tensor, "rank out"]
    smallest: float
    dropped: float

    @property
    def rank(self) -> int:
        """The rank of the Gram matrix, and of Λ_D."""
        return len(self.basis)

    @cached_property
    def dual(self) -> Float[Tensor, "rank out"]:
        """The weights α of the features of the basis samples: ``Ŵ = Σ_i α_i ⊗ 𝒳(Z_i)``."""
        return torch.linalg.solve_triangular(self.factor.mT, self.coefficients, upper=True)

    def predict(self, cross: Float[Tensor, "inputs samples"]) -> Float[Tensor, "inputs out"]:
        """The outputs at inputs whose kernel with the samples is ``cross``."""
        return cross[:, self.basis] @ self.dual

    def outside(
        self, cross: Float[Tensor, "inputs samples"], own: Float[Tensor, " inputs"]
    ) -> Float[Tensor, " inputs"]:
        """The squared part of each input's features outside the span of the samples, relative to ``own = k(Z, Z)``.

        Where it is 0, all minimisers agree, with any number of heads; where it is not, d² heads can give any output.
        """
        return ((own - self.coordinates(cross).square().sum(dim=1)) / own).clamp(min=0)

    def coordinates(self, cross: Float[Tensor, "inputs samples"]) -> Float[Tensor, "inputs rank"]:
        """The part of each input's features in the span of the samples, in the orthonormal coordinates of L."""
        return torch.linalg.solve_triangular(self.factor, cross[:, self.basis].mT, upper=False).mT

    def heads(self, samples: Float[Tensor, "samples tokens width"]) -> Heads:
        """The model as ``rank · n`` heads: ``V = α_i z_tᵀ``, ``Q = z_t z_nᵀ`` for every token of every basis sample."""
        basis = samples[self.basis]
        values = self.dual[:, None, :, None] * basis[:, :, None, :]
        queries = basis[:, :, :, None] * basis[:, -1:, None, :]
        return Heads(values.flatten(0, 1), queries.flatten(0, 1))


def kernel_fit(
    gram: Float[Tensor, "samples samples"], labels: Float[Tensor, "samples out"], rtol: float = 1e-9
) -> KernelFit:
    """Algorithm 1 from the Gram matrix of the samples: no ridge, the solution of least norm.

    A Cholesky factorisation with pivots takes the sample farthest from those taken, until no squared distance exceeds
    ``rtol`` times the largest ``k(Z, Z)``. What is left counts as zero. It runs on the CPU, in float64.

    Raises:
        ParameterError: a Gram matrix that is not square, labels of another number; no sample, values that are not
            finite, or ``rtol`` outside [0, 1].
    """
    require(rtol=(rtol, 0.0, 1.0))
    require_some(gram=gram)
    require_shape(gram=(gram, (len(gram), len(gram))), labels=(labels, (len(gram), None)))
    require_finite(gram=gram, labels=labels)
    largest = gram.diagonal().max().item()
    factored, pivots, rank, _ = dpstrf(gram.double().cpu().numpy(), tol=rtol * largest, lower=1)
    order = torch.as_tensor(pivots, dtype=torch.int64, device="cpu") - 1
    rows = torch.as_tensor(factored[:, :rank], device="cpu").tril_().to(gram)
    order = order.to(gram.device)
    left = gram.diagonal()[order[rank:]] - rows[rank:].square().sum(dim=1)
    return KernelFit(
        basis=order[:rank].tolist(),
        factor=rows[:rank],
        coefficients=_solve(rows, labels[order]),
        smallest=rows.diagonal().square().min().item() / largest,
        dropped=left.abs().max().item() / largest if len(left) else 0.0,
    )


def _solve(rows: Float[Tensor, "samples rank"], labels: Float[Tensor, "samples out"]) -> Float[Tensor, "rank out"]:
    """Least squares with independent columns, the first rows a triangle; outputs that are always 0 cost nothing.

    The labels of the triangle alone decide where those of the other rows agree with them.
    """
    asked, rank = (labels != 0).any(dim=0), rows.shape[1]
    wanted = labels[:, asked].to(rows)
    found = torch.linalg.solve_triangular(rows[:rank], wanted[:rank], upper=False)
    if not torch.allclose(rows @ found, wanted, rtol=0.0, atol=_AGREE * labels.abs().max().item()):
        found = torch.linalg.lstsq(rows, wanted, driver="gels").solution
    solution = labels.new_zeros(rank, labels.shape[1])
    solution[:, asked] = found.to(labels)
    return solution
