"""A two-layer sigmoid network and a step of gradient descent on it, plainly (Algorithms 5 and 14)."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require


@dataclass(frozen=True)
class SigmoidNetwork:
    """``o = w2 · sigmoid(W1 x + b1) + b2`` with the loss ``(o - y)² / 2``.

    Attributes:
        w1: (hidden, d).
        b1: (hidden,).
        w2: (hidden,).
        b2: one number, without an axis.
    """

    w1: Float[Tensor, "hidden d"]
    b1: Float[Tensor, " hidden"]
    w2: Float[Tensor, " hidden"]
    b2: Float[Tensor, ""]

    def output(self, x: Float[Tensor, " d"]) -> Float[Tensor, ""]:
        return self.w2 @ (self.w1 @ x + self.b1).sigmoid() + self.b2

    def loss(self, x: Float[Tensor, " d"], y: float) -> Float[Tensor, ""]:
        return (self.output(x) - y) ** 2 / 2

    def gradient(self, x: Float[Tensor, " d"], y: float) -> "SigmoidNetwork":
        """Algorithm 5: the gradient of the loss, in the shape of a network."""
        a = (self.w1 @ x + self.b1).sigmoid()
        delta2 = self.output(x) - y
        delta1 = a * (1 - a) * self.w2 * delta2
        return SigmoidNetwork(delta1[:, None] * x, delta1, delta2 * a, delta2)

    def step(self, x: Float[Tensor, " d"], y: float, lr: float) -> "SigmoidNetwork":
        """One step of gradient descent on one example."""
        gradient = self.gradient(x, y)
        return SigmoidNetwork(
            self.w1 - lr * gradient.w1,
            self.b1 - lr * gradient.b1,
            self.w2 - lr * gradient.w2,
            self.b2 - lr * gradient.b2,
        )

    def distance(self, other: "SigmoidNetwork") -> float:
        """The largest difference of any parameter."""
        ours, theirs = (vars(network).values() for network in (self, other))
        return max((mine - its).abs().max().item() for mine, its in zip(ours, theirs, strict=True))

    @classmethod
    def random(cls, hidden: int, d: int, seed: Seed) -> "SigmoidNetwork":
        """Standard normal weights.

        Raises:
            ParameterError: hidden units or inputs below 1.
        """
        require(hidden=(hidden, 1, None), d=(d, 1, None))
        source = generator(seed)
        shapes: list[tuple[int, ...]] = [(hidden, d), (hidden,), (hidden,), ()]
        return cls(*(normal(*shape, seed=source) for shape in shapes))

    def train(
        self, x: Float[Tensor, "points d"], y: Float[Tensor, " points"], lr: float, epochs: int
    ) -> "list[SigmoidNetwork]":
        """Stochastic gradient descent, point after point, epoch after epoch: the networks on the way."""
        networks = [self]
        for _ in range(epochs):
            for point, label in zip(x, y.tolist(), strict=True):
                networks.append(networks[-1].step(point, label, lr))
        return networks

    def mean_loss(self, x: Float[Tensor, "points d"], y: Float[Tensor, " points"]) -> float:
        """The loss averaged over the points."""
        return sum(self.loss(point, label).item() for point, label in zip(x, y.tolist(), strict=True)) / len(x)
