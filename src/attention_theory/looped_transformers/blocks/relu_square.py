"""The square by ReLU networks of one input, wide, deep or looped, with which Appendix J.4 compares attention."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Rows
from attention_theory.validation import require


@dataclass(frozen=True)
class ReluNetwork:
    """A fully connected ReLU network from numbers to numbers.

    ``layers`` are weights and biases, ``(units, inputs)`` and ``(units,)``; the last has one unit and no ReLU.
    """

    layers: tuple[tuple[Tensor, Tensor], ...]

    @property
    def depth(self) -> int:
        """L, the number of hidden layers."""
        return len(self.layers) - 1

    @property
    def width(self) -> int:
        """w, the units of the widest hidden layer."""
        return max(len(bias) for _, bias in self.layers[:-1])

    def __call__(self, x: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        state = x[..., None]
        for weight, bias in self.layers[:-1]:
            state = (state @ weight.to(x).mT + bias.to(x)).relu()
        weight, bias = self.layers[-1]
        return (state @ weight.to(x).mT + bias.to(x))[..., 0]

    @classmethod
    def wide_square(cls, units: int) -> "ReluNetwork":
        """x² on [0, 1] up to ``1 / 8 units²`` in one hidden layer: a polygon of as many pieces, half its error lower.

        Raises:
            ParameterError: fewer than one unit.
        """
        require(units=(units, 1, None))
        rises = torch.full((units,), 2 / units, dtype=torch.float64)
        rises[0] = 1 / units
        kinks = torch.arange(units, dtype=torch.float64) / units
        hidden = torch.ones(units, 1, dtype=torch.float64), -kinks
        return cls((hidden, (rises[None], torch.tensor([-1 / (8 * units**2)], dtype=torch.float64))))

    @classmethod
    def deep_square(cls, depth: int) -> "ReluNetwork":
        """x² on [0, 1] up to ``1 / 8 4^depth`` with three units in a layer.

        The tent ``g = 2 relu(t) - 4 relu(t - 1/2)``, s times over, has 2^s pieces; taking ``g/4^s`` off the polygon of
        2^(s - 1) pieces gives the next. Two units make the tent, the third hands the polygon on.

        Raises:
            ParameterError: fewer than one layer.
        """
        require(depth=(depth, 1, None))
        layers = [_layer([[1.0], [1.0], [1.0]], [0.0, -0.5, 0.0])]
        for s in range(1, depth):
            polygon = [-2 / 4**s, 4 / 4**s, 1.0]
            layers.append(_layer([[2.0, -4.0, 0.0], [2.0, -4.0, 0.0], polygon], [0.0, -0.5, 0.0]))
        layers.append(_layer([[-2 / 4**depth, 4 / 4**depth, 1.0]], [-1 / (8 * 4**depth)]))
        return cls(tuple(layers))

    @classmethod
    def zigzag(cls, units: int, depth: int) -> "ReluNetwork":
        """A line that runs to and fro between 0 and 1, with ``units^depth`` pieces on [0, 1].

        Raises:
            ParameterError: fewer than two units or one layer.
        """
        require(units=(units, 2, None), depth=(depth, 1, None))
        turns = [float(units)] + [2.0 * units * (-1) ** k for k in range(1, units)]
        kinks = [-k / units for k in range(units)]
        layers = [_layer([[1.0]] * units, kinks)]
        layers += [_layer([turns] * units, kinks) for _ in range(depth - 1)]
        return cls((*layers, _layer([turns], [0.0])))

    def distance_to_square(self, parts: int) -> float:
        """The largest ``|f(x) - x²|`` on a grid of [0, 1] with ``parts`` parts.

        It is the largest on [0, 1] if the grid holds all kinks and the places where the slope of a piece is that of x²;
        for :meth:`wide_square` and :meth:`deep_square` that is so with twice as many parts as pieces.

        Raises:
            ParameterError: fewer than one part.
        """
        require(parts=(parts, 1, None))
        x = torch.arange(parts + 1, dtype=torch.float64) / parts
        return (self(x) - x**2).abs().max().item()

    def pieces(self, parts: int) -> int:
        """The linear pieces on [0, 1], if all kinks lie on the grid of ``parts`` parts.

        Raises:
            ParameterError: fewer than one part.
        """
        require(parts=(parts, 1, None))
        x = torch.arange(parts + 1, dtype=torch.float64) / parts
        slopes = self(x).diff() * parts
        return 1 + int((slopes.diff().abs() > 1e-6 * slopes.abs().max()).sum())


def looped_product() -> Layer:
    """A layer without heads that multiplies if it is looped: after t passes ``p`` is ``xy`` up to ``4^-t / 2``.

    ``x² = x - Σ g_k/4^k`` with the tent function's k-th iterate ``g_k``. With ``s = 4^-k`` and ``h = s g_k`` the next
    summand is ``min(h, s - h) / 2``, which no longer depends on k: the weights are the same in each pass. Three sums
    give ``xy = 2 ((x + y)/2)² - x²/2 - y²/2`` for x and y in [0, 1]. The rows start at ``s = 1``, ``m = (x + y)/2``,
    ``x``, ``y`` and ``p = m``.
    """
    layer = Layer(Rows(s=1, m=1, x=1, y=1, p=1), "one more digit of the product")
    scale, *summands, product = range(layer.rows.size)
    layer.unit("s / 4", {scale: 1.0}, {scale: -0.75})
    for row, weight in zip(summands, (2.0, -0.5, -0.5), strict=True):
        layer.unit("h / 2", {row: 1.0}, {row: -0.5, product: -weight / 2})
        layer.unit("fold", {row: 2.0, scale: -1.0}, {row: -0.5, product: weight / 2})
    return layer


def least_distance(width: int, depth: int) -> float:
    """The distance below which no such network comes to x² on [0, 1]: ``1 / 8 (w + 1)^2L``.

    A network has at most ``(w + 1)^L`` linear pieces, and a piece of length h misses x² by at least h²/8.

    Raises:
        ParameterError: fewer than one unit or one layer.
    """
    require(width=(width, 1, None), depth=(depth, 1, None))
    return 1 / (8 * (width + 1) ** (2 * depth))


def _layer(weight: list[list[float]], bias: list[float]) -> tuple[Tensor, Tensor]:
    return torch.tensor(weight, dtype=torch.float64), torch.tensor(bias, dtype=torch.float64)
