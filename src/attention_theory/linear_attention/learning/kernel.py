"""Algorithm 1 as a kernel method: regression on the cubic features without ever writing them down (Section 3).

The feature matrix of an input is ``𝒳(Z) = G ⊗ z_n`` with ``G = Z Zᵀ``, so the inner product of two of them is

    ``<𝒳(Z), 𝒳(Z')> = <G, G'> <z_n, z'_n> = ‖Zᵀ Z'‖_F² <z_n, z'_n>``,

at any width. Every prefix of a run is a sample, as in the data set D of Lemma 5.1. Prefixes whose last tokens share no
coordinate have inner product 0: the regression falls into *sectors*, solved one by one. The Gram matrix has the rank of
Λ_D and shows, for every single input, whether the data determine the output there.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from jaxtyping import Float
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.validation import Each, refuse_unless, require, require_finite, require_shape, require_some


def kernel(
    left: Float[Tensor, "inputs tokens width"], right: Float[Tensor, "others _tokens width"]
) -> Float[Tensor, "inputs others"]:
    """The inner products ``‖Zᵀ Z'‖_F² <z_n, z'_n>`` of the features of two sets of inputs."""
    products = torch.einsum("isw,jtw->ijst", left, right)
    return products.square().sum(dim=(-2, -1)) * products[..., -1, -1]


def prefix_kernel(
    left: Float[Tensor, "runs tokens width"],
    right: Float[Tensor, "others _tokens width"],
    lengths: Sequence[int],
    others: Sequence[int],
) -> Float[Tensor, "prefixes others_prefixes"]:
    """The kernel between prefixes: the first ``lengths`` tokens of each left run, the first ``others`` of each right.

    The prefixes of a run follow one another. Tokens are multiplied position by position, in the coordinates used at
    both.

    Raises:
        ParameterError: no length, one that the runs do not have, or lengths that do not rise.
    """
    require(lengths=(Each(lengths), 1, left.shape[1]), others=(Each(others), 1, right.shape[1]))
    for name, given in (("lengths", lengths), ("others", others)):
        refuse_unless(all(a < b for a, b in pairwise(given)), f"{name} must rise, got {list(given)}")
    used = [(runs != 0).any(dim=0) for runs in (left, right)]
    sums = left.new_zeros(len(lengths), len(others), len(left), len(right))
    for s in range(lengths[-1]):
        for t in range(others[-1]):
            common = (used[0][s] & used[1][t]).nonzero()[:, 0]
            if len(common):
                products = left[:, s, common] @ right[:, t, common].mT
                sums[bisect_right(lengths, s), bisect_right(others, t)] += products.square_()
    sums.cumsum_(0).cumsum_(1)
    for i, length in enumerate(lengths):
        for j, other in enumerate(others):
            sums[i, j] *= left[:, length - 1] @ right[:, other - 1].mT
    return sums.permute(2, 0, 3, 1).reshape(len(left) * len(lengths), -1)


def sectors(runs: Float[Tensor, "runs tokens width"], first: int) -> list[list[int]]:
    """The lengths ``first`` to n - 1, sorted into sets between which the kernel is 0 for every pair of runs.

    Two lengths belong together if their last tokens use a common coordinate, in any runs, or through others that do.

    Raises:
        ParameterError: ``first`` below 1, or no token behind such a prefix.
    """
    require(first=(first, 1, runs.shape[1] - 1))
    used = (runs[:, first - 1 : -1] != 0).any(dim=0).double().cpu().numpy()
    count, label = connected_components(csr_array(used @ used.T), directed=False)
    return [[first + place for place, one in enumerate(label) if one == which] for which in range(count)]


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


@dataclass(frozen=True)
class KernelModel:
    """The function of the tokens that Algorithm 1 learns from runs: ``Σ_i α_i k(Z_i, Z)`` over all sectors.

    Attributes:
        runs: the training runs.
        parts: for each sector the lengths of its prefixes and the regression on them.
    """

    runs: Float[Tensor, "runs tokens width"]
    parts: list[tuple[list[int], KernelFit]]

    @property
    def rank(self) -> int:
        """The rank of Λ_D: that of the whole Gram matrix, which the sectors divide."""
        return sum(fit.rank for _, fit in self.parts)

    def __call__(self, tokens: Float[Tensor, "inputs tokens width"]) -> Float[Tensor, "inputs width"]:
        """The outputs at the last token of each input, before any rounding."""
        output = torch.zeros_like(tokens[:, -1])
        for fit, cross in self._met(tokens):
            output += fit.predict(cross)
        return output

    def with_outside(
        self, tokens: Float[Tensor, "inputs tokens width"]
    ) -> tuple[Float[Tensor, "inputs width"], Float[Tensor, " inputs"]]:
        """The outputs, and the squared part of each input's features outside the span as :meth:`KernelFit.outside`."""
        output, inside = torch.zeros_like(tokens[:, -1]), tokens.new_zeros(())
        for fit, cross in self._met(tokens):
            output += fit.predict(cross)
            inside = inside + fit.coordinates(cross).square().sum(dim=1)
        own = (tokens @ tokens.mT).square().sum(dim=(1, 2)) * tokens[:, -1].square().sum(dim=1)
        return output, ((own - inside) / own).clamp(min=0)

    def _met(self, tokens: Float[Tensor, "inputs tokens width"]) -> Iterator[tuple[KernelFit, Float[Tensor, "_ _"]]]:
        """The sectors whose last tokens share a coordinate with those of the inputs, and the kernel with them."""
        used = (tokens[:, -1] != 0).any(dim=0)
        for lengths, fit in self.parts:
            if ((self.runs[:, [length - 1 for length in lengths]] != 0).any(dim=(0, 1)) & used).any():
                yield fit, prefix_kernel(tokens, self.runs, [tokens.shape[1]], lengths)


def learn_runs(runs: Float[Tensor, "runs tokens width"], first: int, rtol: float = 1e-9) -> KernelModel:
    """Algorithm 1 on the data set D of Lemma 5.1: every prefix of each run, with the token that follows for a label.

    Args:
        runs: histories of one length.
        first: the tokens of the prompt, which is the shortest prefix.
        rtol: as in :func:`kernel_fit`.

    Raises:
        ParameterError: no run, ``first`` below 1 or no token behind it, or ``rtol`` outside [0, 1].
    """
    require_some(runs=runs)
    parts = []
    for lengths in sectors(runs, first):
        gram = prefix_kernel(runs, runs, lengths, lengths)
        parts.append((lengths, kernel_fit(gram, runs[:, lengths].flatten(0, 1), rtol)))
    return KernelModel(runs, parts)


def _solve(rows: Float[Tensor, "samples rank"], labels: Float[Tensor, "samples out"]) -> Float[Tensor, "rank out"]:
    """Least squares with independent columns; outputs that are always 0 cost nothing."""
    asked = (labels != 0).any(dim=0)
    solution = labels.new_zeros(rows.shape[1], labels.shape[1])
    solution[:, asked] = torch.linalg.lstsq(rows, labels[:, asked].to(rows), driver="gels").solution.to(labels)
    return solution
