"""Direction of descent on W alone with label noise: the instance of Appendix A.4 with a second bigram, (q, τ).

V is the identity and F that of Lemma 4.1. All sentences end in □ q, so it is enough to follow ``w = W^T x_H``, in which
all logits are linear. The label is τ with probability α, else y. Descent makes the odds of the two those of the label,
and puts them above all other words: a margin of next-token prediction (Thrampoulidis 2024).
"""

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import lsq_linear
from torch import Tensor
from torch.nn.functional import one_hot

from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.validation import require

#: The trigger q. Outputs follow it, then the neutral words, the first of which is the box □, a fresh word, and τ.
_TRIGGER = 0


@dataclass(frozen=True)
class _NoisyInstance:
    """Every sentence of the instance, with equal probabilities.

    Attributes:
        tokens: words, with τ.
        outputs: size of O.
        alpha: the probability of τ as the label.
        sentences: all contexts; the same with the fresh word for y, and with the last neutral word, which then occurs
            nowhere else.
        output: y in each of them.
    """

    tokens: int
    outputs: int
    alpha: float
    sentences: Int[Tensor, "kinds sentences length"]
    output: Int[Tensor, "kinds sentences"]

    @property
    def features(self) -> Float[Tensor, "kinds sentences tokens codes"]:
        """``K``: the logits are ``K w``, and γ more at τ (Lemma 4.1)."""
        words = one_hot(self.sentences, self.tokens).double()
        previous = torch.zeros_like(words)
        previous[..., 1:, :] = words[..., :-1, :]
        inputs = torch.cat([words, previous], dim=-1)
        features = torch.einsum("kshj,kshc->ksjc", words, inputs)
        heard = odds(self.alpha) * words[..., _TRIGGER] + previous[..., _TRIGGER]
        features[..., -1, :] += torch.einsum("ksh,kshc->ksc", heard, inputs)
        return features

    @property
    def claimed_direction(self) -> Float[Tensor, " codes"]:
        """``(2 Σ_y E(y) + |O| (Ẽ(q) - E(τ))) / (|O| + 2)``, the hard margin for ``1 / (1 + e^4) <= α <= 1/2``."""
        w = torch.zeros(2 * self.tokens, dtype=torch.float64)
        w[1 : 1 + self.outputs] = 2.0
        w[self.tokens + _TRIGGER], w[self.tokens - 1] = self.outputs, -self.outputs
        return w / (self.outputs + 2)

    def margins(self) -> tuple[Float[Tensor, "kinds sentences codes"], Float[Tensor, "kinds sentences others codes"]]:
        """Rows of ``ξ_τ - ξ_y``, less γ, and of ``ξ_y - ξ_j`` for all other words."""
        features, chosen = self.features, self.output[..., None, None]
        at_output = features.gather(2, chosen.expand(*self.output.shape, 1, features.shape[-1]))
        rest = torch.arange(self.tokens - 1).expand(*self.output.shape, -1) != chosen[..., 0]
        others = (at_output - features[..., :-1, :])[rest].unflatten(0, (*self.output.shape, self.tokens - 2))
        return features[..., -1, :] - at_output.squeeze(2), others

    def excess(self, w: Float[Tensor, "*times codes"]) -> Float[Tensor, "*times kinds"]:
        """Mean loss less the Bayes risk, on each kind of sentences."""
        noise, others = self.margins()
        shift = torch.einsum("ksc,...c->...ks", noise, w)
        missed = torch.einsum("ksjc,...c->...ksj", -others, w).logsumexp(dim=-1)
        both = (shift + odds(self.alpha)).exp().log1p()
        divergence = (self.alpha * shift.expm1()).log1p() - self.alpha * shift
        return (divergence + torch.nn.functional.softplus(missed - both)).mean(dim=-1)

    def descend(self, lr: float, steps: int) -> Float[Tensor, "times codes"]:
        """w at t = 0, ..., T by gradient descent on the expected loss of trained outputs, from 0.

        Raises:
            ParameterError: a negative rate, or no step.
        """
        require(lr=(lr, 0.0, None), steps=(steps, 1, None))
        noise, others = (rows[0] for rows in self.margins())
        path = [torch.zeros(2 * self.tokens, dtype=torch.float64)]
        for _ in range(steps):
            zero = torch.zeros(len(noise), 1, dtype=torch.float64)
            at_noise = (noise @ path[-1] + odds(self.alpha))[:, None]
            chances = torch.cat([zero, at_noise, -others @ path[-1]], dim=1).softmax(dim=1)
            slope = (chances[:, 1] - self.alpha) @ noise - torch.einsum("sj,sjc->c", chances[:, 2:], others)
            path.append(path[-1] - lr * slope / len(noise))
        return torch.stack(path)

    def hard_margin(self) -> Float[Tensor, " codes"]:
        """The shortest w that keeps the odds of τ and y and puts y above every other word by at least 1.

        A least-distance problem in the space that leaves the odds as they are, through non-negative least squares.
        """
        noise, others = (rows[0] for rows in self.margins())
        _, sizes, axes = torch.linalg.svd(noise)
        free = axes[(sizes > 1e-9).sum() :]  # all codes that do not change the odds
        constraints = np.unique((others.flatten(0, 1) @ free.mT).numpy().round(12), axis=0)
        system = np.vstack([constraints.T, np.ones(len(constraints))])
        target = np.append(np.zeros(len(free)), 1.0)
        # SciPy's nnls stops early on some of these systems.
        multipliers = lsq_linear(system, target, bounds=(0, np.inf), method="bvls", tol=1e-14).x
        residual = system @ multipliers - target
        return torch.from_numpy(-residual[:-1] / residual[-1]) @ free


def noisy_instance(length: int, neutral: int = 2, outputs: int = 2, alpha: float = 0.5) -> _NoisyInstance:
    """Enumerate the sentences: (q, y) and (q, τ) with a word or more between them, neutral words elsewhere, then □, q.

    Raises:
        ParameterError: too few words or positions.
    """
    require(length=(length, 7, None), neutral=(neutral, 2, None), outputs=(outputs, 2, None))
    tokens, body = 3 + outputs + neutral, length - 2
    words, rows, places = range(1 + outputs, tokens - 2), [], []
    for output, first, second in itertools.product(range(1, 1 + outputs), range(body - 1), range(body - 1)):
        if abs(first - second) < 3:
            continue
        held = {first: _TRIGGER, first + 1: output, second: _TRIGGER, second + 1: tokens - 1}
        for fill in itertools.product(words, repeat=body - 4):
            rest = iter(fill)
            row = [held[place] if place in held else next(rest) for place in range(body)]
            rows.append([*row, words[0], _TRIGGER])
            places.append(first + 1)
    seen, at = torch.tensor(rows), torch.arange(len(rows))
    kinds = [seen, seen.clone(), seen.masked_fill(seen == words[-1], words[0])]
    kinds[1][at, places], kinds[2][at, places] = tokens - 2, words[-1]
    sentences = torch.stack(kinds)
    return _NoisyInstance(tokens, outputs, alpha, sentences, sentences[:, at, places])
