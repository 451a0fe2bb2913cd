"""A machine learned from runs, set to run machines that it has not seen (Lemma 5.1, Corollary 3).

Every prefix of a run is a sample, as in the data set D of Lemma 5.1. Prefixes whose last tokens share no coordinate
have inner product 0: the regression falls into *sectors*, solved one by one.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Bool, Float
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from attention_theory.linear_attention.learning.kernel import KernelFit, kernel_fit
from attention_theory.linear_attention.model.autoregression import autoregress
from attention_theory.validation import Each, refuse_unless, require, require_some

#: A part of the features outside the span of the data counts as rounding up to this fraction of the square.
OUTSIDE = 1e-9


@dataclass(frozen=True)
class _LearnedExecution:
    """Scores of a learned model on runs that were not in its data.

    Attributes:
        tokens: what it wrote on, each output rounded before it became a token.
        errors: by step, the mean squared error of the next token on the true histories.
        missed: by run and step, whether the rounded output on the true history is another token.
        right: by run and step, whether the token that it wrote is the true one.
        determined: by run and step, whether the data determine the output there, for every minimiser.
    """

    tokens: Float[Tensor, "runs tokens width"]
    errors: Float[Tensor, " steps"]
    missed: Bool[Tensor, "runs steps"]
    right: Bool[Tensor, "runs steps"]
    determined: Bool[Tensor, "runs steps"]

    @property
    def error(self) -> float:
        """ε, the mean over all entries of the true histories."""
        return self.errors.mean().item()

    @property
    def exact(self) -> Bool[Tensor, " runs"]:
        """The runs that are right at every step."""
        return self.right.all(dim=1)

    @property
    def mismatch(self) -> float:
        """The fraction of runs that differ somewhere: Eq. 24 bounds it."""
        return 1 - self.exact.double().mean().item()

    @property
    def bound(self) -> float:
        """``4 ε Φ``."""
        return 4 * self.errors.sum().item()


@dataclass(frozen=True)
class _KernelModel:
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

    def execute(
        self,
        histories: Float[Tensor, "runs tokens width"],
        first: int,
        rounding: Callable[[Float[Tensor, "runs width"]], Float[Tensor, "runs width"]],
    ) -> _LearnedExecution:
        """Compare the model with true histories: on their prefixes, and alone from the first ``first`` tokens.

        Raises:
            ParameterError: ``first`` below 1, or histories that have no token behind it.
        """
        require(first=(first, 1, histories.shape[1] - 1))
        prefixes = [histories[:, :length] for length in range(first, histories.shape[1])]
        outputs, outside = (torch.stack(of, dim=1) for of in zip(*map(self.with_outside, prefixes), strict=True))
        truth = histories[:, first:]
        written = autoregress(self, histories[:, :first], truth.shape[1], rounding)
        return _LearnedExecution(
            tokens=written,
            errors=(outputs - truth).square().sum(dim=-1).mean(dim=0),
            missed=(rounding(outputs) != truth).any(dim=-1),
            right=(written[:, first:] == truth).all(dim=-1),
            determined=outside <= OUTSIDE,
        )

    def _met(self, tokens: Float[Tensor, "inputs tokens width"]) -> Iterator[tuple[KernelFit, Float[Tensor, "_ _"]]]:
        """The sectors whose last tokens share a coordinate with those of the inputs, and the kernel with them."""
        used = (tokens[:, -1] != 0).any(dim=0)
        for lengths, fit in self.parts:
            if ((self.runs[:, [length - 1 for length in lengths]] != 0).any(dim=(0, 1)) & used).any():
                yield fit, _prefix_kernel(tokens, self.runs, [tokens.shape[1]], lengths)


def learn_runs(runs: Float[Tensor, "runs tokens width"], first: int, rtol: float = 1e-9) -> _KernelModel:
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
    for lengths in _sectors(runs, first):
        gram = _prefix_kernel(runs, runs, lengths, lengths)
        parts.append((lengths, kernel_fit(gram, runs[:, lengths].flatten(0, 1), rtol)))
    return _KernelModel(runs, parts)


def learning_curve(
    runs: Float[Tensor, "runs tokens width"],
    held_out: Float[Tensor, "others tokens width"],
    first: int,
    counts: Sequence[int],
    rtol: float = 1e-9,
) -> Iterator[Float[Tensor, "others steps width"]]:
    """The outputs on the prefixes of held-out runs, learned from the first runs: one tensor for each of ``counts``.

    It is :func:`learn_runs` for each count, with the kernel computed once.

    Raises:
        ParameterError: a count below 1 or above the number of runs.
    """
    require(counts=(Each(counts), 1, len(runs)))
    parts = [
        (lengths, _prefix_kernel(runs, runs, lengths, lengths), _prefix_kernel(held_out, runs, lengths, lengths))
        for lengths in _sectors(runs, first)
    ]
    for count in counts:
        outputs = torch.zeros_like(held_out[:, first:])
        for lengths, gram, cross in parts:
            samples = count * len(lengths)
            fit = kernel_fit(gram[:samples, :samples], runs[:count, lengths].flatten(0, 1), rtol)
            places = [length - first for length in lengths]
            outputs[:, places] = fit.predict(cross[:, :samples]).unflatten(0, (len(held_out), -1))
        yield outputs


def _prefix_kernel(
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


def _sectors(runs: Float[Tensor, "runs tokens width"], first: int) -> list[list[int]]:
    """The lengths ``first`` to n - 1, sorted into sets between which the kernel is 0 for every pair of runs.

    Two lengths belong together if their last tokens use a common coordinate, in any runs, or through others that do.

    Raises:
        ParameterError: ``first`` below 1, or no token behind such a prefix.
    """
    require(first=(first, 1, runs.shape[1] - 1))
    used = (runs[:, first - 1 : -1] != 0).any(dim=0).double().cpu().numpy()
    count, label = connected_components(csr_array(used @ used.T), directed=False)
    return [[first + place for place, one in enumerate(label) if one == which] for which in range(count)]
