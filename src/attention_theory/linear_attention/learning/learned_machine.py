"""A machine learned from runs, set to run machines that it has not seen (Lemma 5.1, Corollary 3)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_theory.linear_attention.learning.kernel import KernelModel, kernel_fit, prefix_kernel, sectors
from attention_theory.linear_attention.model.autoregression import autoregress
from attention_theory.validation import Each, require

#: A part of the features outside the span of the data counts as rounding up to this fraction of the square.
OUTSIDE = 1e-9


@dataclass(frozen=True)
class LearnedExecution:
    """How a learned model does on runs that were not in its data.

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


def execute_learned(
    model: KernelModel,
    histories: Float[Tensor, "runs tokens width"],
    first: int,
    rounding: Callable[[Float[Tensor, "runs width"]], Float[Tensor, "runs width"]],
) -> LearnedExecution:
    """Compare a learned model with true histories: on their prefixes, and alone from the first ``first`` tokens.

    Raises:
        ParameterError: ``first`` below 1, or histories that have no token behind it.
    """
    require(first=(first, 1, histories.shape[1] - 1))
    prefixes = [histories[:, :length] for length in range(first, histories.shape[1])]
    outputs, outside = (torch.stack(of, dim=1) for of in zip(*map(model.with_outside, prefixes), strict=True))
    truth = histories[:, first:]
    written = autoregress(model, histories[:, :first], truth.shape[1], rounding)
    return LearnedExecution(
        tokens=written,
        errors=(outputs - truth).square().sum(dim=-1).mean(dim=0),
        missed=(rounding(outputs) != truth).any(dim=-1),
        right=(written[:, first:] == truth).all(dim=-1),
        determined=outside <= OUTSIDE,
    )


def learning_curve(
    runs: Float[Tensor, "runs tokens width"],
    held_out: Float[Tensor, "others tokens width"],
    first: int,
    counts: Sequence[int],
    rtol: float = 1e-9,
) -> Iterator[Float[Tensor, "others steps width"]]:
    """The outputs on the prefixes of held-out runs, learned from the first runs: one tensor for each of ``counts``.

    It is :func:`.kernel.learn_runs` for each count, with the kernel computed once.

    Raises:
        ParameterError: a count below 1 or above the number of runs.
    """
    require(counts=(Each(counts), 1, len(runs)))
    parts = [
        (lengths, prefix_kernel(runs, runs, lengths, lengths), prefix_kernel(held_out, runs, lengths, lengths))
        for lengths in sectors(runs, first)
    ]
    for count in counts:
        outputs = torch.zeros_like(held_out[:, first:])
        for lengths, gram, cross in parts:
            samples = count * len(lengths)
            fit = kernel_fit(gram[:samples, :samples], runs[:count, lengths].flatten(0, 1), rtol)
            places = [length - first for length in lengths]
            outputs[:, places] = fit.predict(cross[:, :samples]).unflatten(0, (len(held_out), -1))
        yield outputs
