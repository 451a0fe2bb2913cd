"""Direction of descent on W alone: the instance of Appendix A.4 behind Theorem 3.4.

All its sentences end in the same two words, so ``x_H = E(q) + Ẽ(□)`` is one fixed vector and every gradient is
``x_H v^T``. From ``W_0 = 0`` the matrix stays ``W = x_H v^T``: descent on W is descent on v, and
``cos(W, E(q) Ẽ(q)^T) = v[Ẽ(q)] / (sqrt(2) |v|)``. The vector v lives on 2N codes: words first, then previous words.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import nnls
from torch import Tensor
from torch.nn.functional import one_hot

from attention_theory.in_context_reasoning.cross_entropy import Arithmetic, cross_entropy
from attention_theory.in_context_reasoning.task import Sentences
from attention_theory.validation import require

#: The one trigger q. Outputs follow it, then the neutral words, the first of which is the box □.
TRIGGER = 0


@dataclass(frozen=True)
class Instance:
    """Every sentence of the instance, with its probability.

    Attributes:
        tokens: N.
        outputs: size of O; the theorem has 2.
        sentences: all contexts that can occur.
        probability: of each.
    """

    tokens: int
    outputs: int
    sentences: Sentences
    probability: Float[Tensor, " sentences"]

    @property
    def box(self) -> int:
        return 1 + self.outputs

    @property
    def features(self) -> Float[Tensor, "sentences tokens codes"]:
        """``K``: the logits are ``2 K v``, since ``ξ_j = sum_h 1{z_h = j} (x_H·x_H) v·x_h`` and ``|x_H|² = 2``."""
        return torch.einsum("shj,shc->sjc", self.inputs[..., : self.tokens], self.inputs)

    @property
    def inputs(self) -> Float[Tensor, "sentences length codes"]:
        """``x_h`` in the codes."""
        words = one_hot(self.sentences.tokens, self.tokens).to(self.probability)
        previous = torch.zeros_like(words)
        previous[:, 1:] = words[:, :-1]
        return torch.cat([words, previous], dim=2)

    @property
    def last_input(self) -> Float[Tensor, " codes"]:
        """``x_H`` in the codes (Appendix A.4): ones at E(q) and Ẽ(□)."""
        codes = self.probability.new_zeros(2 * self.tokens)
        codes[[TRIGGER, self.tokens + self.box]] = 1.0
        return codes

    @property
    def claimed_direction(self) -> Float[Tensor, " codes"]:
        """``sum_y E(y) + |O| Ẽ(q)``: the second factor of the matrix A (Eq. 14, with E(y_2) for its second E(y_1))."""
        v = self.probability.new_zeros(2 * self.tokens)
        v[1 : 1 + self.outputs] = 1.0
        v[self.tokens + TRIGGER] = self.outputs
        return v

    def cosine_with_target(self, v: Float[Tensor, "... codes"]) -> Float[Tensor, "..."]:
        """The cosine between ``W = x_H v^T`` and ``W* = E(q) Ẽ(q)^T`` (Theorem 3.4)."""
        return v[..., self.tokens + TRIGGER] / (math.sqrt(2) * torch.linalg.vector_norm(v, dim=-1))


def instance(tokens: int, length: int, outputs: int = 2) -> Instance:
    """Enumerate the sentences of Appendix A.4: y and the place ζ of (q, y) uniform, neutral words elsewhere, then □, q.

    Raises:
        ParameterError: fewer than four words, or no neutral one.
    """
    require(outputs=(outputs, 1, None), length=(length, 4, None))
    require(tokens=(tokens, outputs + 2, None))
    neutral = range(1 + outputs, tokens)
    rows, heard = [], []
    for output, place in itertools.product(range(1, 1 + outputs), range(length - 3)):
        for fill in itertools.product(neutral, repeat=length - 4):
            rows.append([*fill[:place], TRIGGER, output, *fill[place:], neutral[0], TRIGGER])
            heard.append(output)
    chance = 1 / (outputs * (length - 3) * len(neutral) ** (length - 4))
    sentences = Sentences(torch.tensor(rows), torch.full((len(rows),), TRIGGER), torch.tensor(heard))
    return Instance(tokens, outputs, sentences, torch.full((len(rows),), chance, dtype=torch.float64))


def descend(
    case: Instance,
    lr: float,
    steps: int,
    normalised: bool = False,
    arithmetic: Arithmetic = "log-domain",
    start: Float[Tensor, "... codes"] | None = None,
) -> Float[Tensor, "times ... codes"]:
    """v at t = 0, ..., T under (normalised) gradient descent on W; ``start`` is v_0, zero unless given.

    Several starts, along leading axes, descend side by side. The gradient in W is ``x_H g^T`` and its norm
    ``sqrt(2) |g|``. Where it is 0, normalised descent stays.

    Raises:
        ParameterError: a negative rate, no step, or an unknown arithmetic.
    """
    require(lr=(lr, 0.0, None), steps=(steps, 1, None))
    features = case.features.flatten(0, 1)
    v = case.probability.new_zeros(2 * case.tokens) if start is None else start.clone()
    path = [v]
    for _ in range(steps):
        slope, log_scale = _slope(features, v, case, arithmetic)
        if normalised:
            length = math.sqrt(2) * torch.linalg.vector_norm(slope, dim=-1, keepdim=True)
            v = v - lr * torch.where(length > 0, slope / length, 0.0)
        else:
            v = v - lr * slope * log_scale.exp()[..., None]
        path.append(v)
    return torch.stack(path)


def descend_relu(case: Instance, lr: float, steps: int, slope_at_zero: float = 1.0) -> Float[Tensor, "times codes"]:
    """v at t = 0, ..., T under normalised descent on W from 0 with ReLU attention.

    Args:
        slope_at_zero: what the gradient takes for the slope of ReLU at 0, where all scores are at the start.

    Raises:
        ParameterError: a negative rate, or no step.
    """
    require(lr=(lr, 0.0, None), steps=(steps, 1, None))
    inputs, words = case.inputs, case.inputs[..., : case.tokens]
    path = [case.probability.new_zeros(2 * case.tokens)]
    for _ in range(steps):
        scores = 2 * inputs @ path[-1]
        active = (scores > 0).to(scores) + slope_at_zero * (scores == 0)
        logits = torch.einsum("sh,shj->sj", scores.relu(), words)
        error = case.probability[:, None] * cross_entropy(logits, case.sentences.output, "log-domain").error
        slope = torch.einsum("sj,shj,sh,shc->c", error, words, active, inputs)
        length = math.sqrt(2) * torch.linalg.vector_norm(slope)
        path.append(path[-1] - lr * slope / length if length > 0 else path[-1])
    return torch.stack(path)


def reduced_descend(case: Instance, lr: float, steps: int) -> Float[Tensor, "times codes"]:
    """The same with the gradient that Appendix A.4 prints, which takes the logits of all words but y to be 0."""
    rows = torch.arange(len(case.probability), device=case.probability.device)
    picked = case.features[rows, case.sentences.output]
    path = [case.probability.new_zeros(2 * case.tokens)]
    for _ in range(steps):
        gap = 2 * picked @ path[-1] - math.log(case.tokens - 1)
        path.append(path[-1] + lr * (case.probability * torch.sigmoid(-gap)) @ picked)
    return torch.stack(path)


def hard_margin(case: Instance) -> Float[Tensor, " codes"]:
    """The shortest v whose logits put y above every other word by at least 1, exact up to rounding.

    It is what descent goes to (Theorem 3.4), which the paper does not say. A least-distance problem, solved through
    non-negative least squares (Lawson and Hanson).
    """
    features = 2 * case.features
    rows = torch.arange(len(features), device=features.device)
    margins = features[rows, case.sentences.output][:, None] - features
    others = one_hot(case.sentences.output, case.tokens) == 0
    constraints = np.unique(margins[others].double().cpu().numpy(), axis=0)
    system = np.vstack([constraints.T, np.ones(len(constraints))])
    target = np.append(np.zeros(system.shape[0] - 1), 1.0)
    multipliers, _ = nnls(system, target)
    residual = system @ multipliers - target
    return torch.from_numpy(-residual[:-1] / residual[-1]).to(case.probability)


def _slope(
    features: Float[Tensor, "rows codes"], v: Float[Tensor, "... codes"], case: Instance, arithmetic: Arithmetic
) -> tuple[Float[Tensor, "... codes"], Float[Tensor, "..."]]:
    """The slope of the loss in v over 2, as a vector and the logarithm of its scale."""
    logits = (2 * (v @ features.mT)).unflatten(-1, (-1, case.tokens))
    loss = cross_entropy(logits, case.sentences.output, arithmetic)
    return (case.probability[:, None] * loss.error).flatten(-2) @ features, loss.log_scale
