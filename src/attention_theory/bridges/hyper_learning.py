"""Learning linear HyperAttention by one regression (Bridge 2): the relaxation of Algorithm 1 at any order."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_theory.bridges.hyper_features import hyper_features, hyper_kernel
from attention_theory.hyper_attention.layers.sums import Sum
from attention_theory.linear_attention.learning.kernel import KernelFit, kernel_fit
from attention_theory.numerics import least_norm_solution
from attention_theory.validation import require, require_some


@dataclass(frozen=True)
class _HyperModel:
    """The function that the regression has learned, a function of query and tokens, and where the data determine it.

    Attributes:
        queries, tokens: the samples.
        order, sum_over: of the layer.
        fit: the regression on their Gram matrix.
    """

    queries: Float[Tensor, "samples width"]
    tokens: Float[Tensor, "samples tokens width"]
    order: int
    sum_over: Sum
    fit: KernelFit

    def __call__(
        self, queries: Float[Tensor, "inputs width"], tokens: Float[Tensor, "inputs _tokens width"]
    ) -> Float[Tensor, "inputs out"]:
        """The outputs at other inputs, of any length."""
        return self.fit.predict(self._cross(queries, tokens))

    def determined(
        self,
        queries: Float[Tensor, "inputs width"],
        tokens: Float[Tensor, "inputs _tokens width"],
        rtol: float = 1e-9,
    ) -> Bool[Tensor, " inputs"]:
        """Inputs at which all minimisers agree: their features lie in the span of those of the samples."""
        own = torch.stack(
            [
                hyper_kernel(q[None], z[None], q[None], z[None], self.order, self.sum_over)[0, 0]
                for q, z in zip(queries, tokens, strict=True)
            ]
        )
        return self.fit.outside(self._cross(queries, tokens), own) <= rtol

    def coefficients(self) -> Float[Tensor, "out features"]:
        """The function in the coordinates of :func:`.hyper_features`, for :func:`.hyper_heads`."""
        basis = self.fit.basis
        return self.fit.dual.mT @ hyper_features(self.queries[basis], self.tokens[basis], self.order, self.sum_over)

    def _cross(self, queries: Tensor, tokens: Tensor) -> Tensor:
        return hyper_kernel(queries, tokens, self.queries, self.tokens, self.order, self.sum_over)


def learn_hyper_attention(
    queries: Float[Tensor, "samples width"],
    tokens: Float[Tensor, "samples tokens width"],
    labels: Float[Tensor, "samples out"],
    order: int,
    sum_over: Sum = "all",
    rtol: float = 1e-9,
) -> _HyperModel:
    """The least-squares fit over linear HyperAttention with any number of heads, of least norm, from the kernel.

    Raises:
        ParameterError: no sample, an order below 2, values that are not finite, or ``rtol`` outside [0, 1].
    """
    require_some(tokens=tokens)
    gram = hyper_kernel(queries, tokens, queries, tokens, order, sum_over)
    return _HyperModel(queries, tokens, order, sum_over, kernel_fit(gram, labels, rtol))


@dataclass(frozen=True)
class _Descent:
    """Gradient descent from several starts at once.

    Attributes:
        scores, values: the parameters at the end.
        losses: the training loss of each start, every so many steps.
    """

    scores: Tensor
    values: Tensor
    losses: Float[Tensor, "records starts"]


def descend(
    outputs: Callable[[Tensor, Tensor], Float[Tensor, "starts samples"]],
    scores: Float[Tensor, "starts ..."],
    values: Float[Tensor, "starts ..."],
    labels: Float[Tensor, " samples"],
    steps: int,
    lr: float,
    every: int = 100,
) -> _Descent:
    """Adam on the mean squared error of a layer that is bilinear in scores and values, full batches.

    Args:
        outputs: of all starts, from scores and values.
        scores: where they start.
        values: where they start.
        labels: one a sample.
        steps: of Adam, at least 1.
        lr: of Adam, above 0; it falls to a hundredth over the steps.
        every: a record of the losses each so many steps.

    Raises:
        ParameterError: no step, or a rate that is not positive.
    """
    require(steps=(steps, 1, None), lr=(lr, 1e-12, None), every=(every, 1, None))
    leaves = [one.clone().requires_grad_() for one in (scores, values)]
    adam = torch.optim.Adam(leaves, lr=lr)
    schedule = torch.optim.lr_scheduler.ExponentialLR(adam, 0.01 ** (1 / steps))
    records = []
    for step in range(steps):
        losses = (outputs(*leaves) - labels).square().mean(dim=1)
        if step % every == 0:
            records.append(losses.detach())
        adam.zero_grad()
        losses.sum().backward()
        adam.step()
        schedule.step()
    with torch.no_grad():
        records.append((outputs(*leaves) - labels).square().mean(dim=1))
    return _Descent(leaves[0].detach(), leaves[1].detach(), torch.stack(records))


def alternate(
    matrix: Float[Tensor, "samples score_entries value_entries"],
    values: Float[Tensor, "starts heads value_entries"],
    labels: Float[Tensor, " samples"],
    rounds: int,
) -> Float[Tensor, "starts samples"]:
    """Alternating least squares: solve for all scores with the values held, then for the values, and so on.

    Each solve lowers the training loss. With as many independent values as these have entries the first one is the
    whole regression.

    Args:
        matrix: of :func:`.score_value_features`.
        values: where the values of each start begin.
        labels: one a sample.
        rounds: pairs of solves, at least 1.

    Returns:
        the outputs at the samples, at the end of each start.

    Raises:
        ParameterError: no round.
    """
    require(rounds=(rounds, 1, None))
    return torch.stack([_alternate_one(matrix, one, labels[:, None], rounds) for one in values])


def _alternate_one(matrix: Tensor, values: Tensor, labels: Tensor, rounds: int) -> Tensor:
    for _ in range(rounds):
        with_values = torch.einsum("nuv,hv->nhu", matrix, values)
        scores = least_norm_solution(with_values.flatten(1), labels).reshape(len(values), -1)
        with_scores = torch.einsum("nuv,hu->nhv", matrix, scores)
        values = least_norm_solution(with_scores.flatten(1), labels).reshape(len(values), -1)
        values = values / values.norm(dim=1, keepdim=True).clamp(min=1e-300)
    with_values = torch.einsum("nuv,hv->nhu", matrix, values).flatten(1)
    return (with_values @ least_norm_solution(with_values, labels))[:, 0]
