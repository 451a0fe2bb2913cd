"""Gradient descent for other losses, as FLEQ programs: f' by sigmoids (Appendix O), or by an inner loop (Remark 5)."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.blocks.base import FunctionBlock
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum, SigmoidSumBlock
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FUNCTIONS, FleqProgram, Function, on_first_entry
from attention_theory.looped_transformers.fleq.machine import standard_blocks
from attention_theory.looped_transformers.programs.newton import ROUNDING
from attention_theory.looped_transformers.programs.power_iteration import inverse_root_iterates
from attention_theory.looped_transformers.programs.regression import Derivative
from attention_theory.validation import require


@dataclass(frozen=True)
class Loss:
    """A loss f(w · x - y), by its derivative.

    Attributes:
        name: of the loss.
        derivative: f'.
        curvature: the largest value of f''.
        sigmoids: a sum of sigmoids for f', where there is one.
        error: a bound on its distance to f', anywhere.
    """

    name: str
    derivative: Derivative
    curvature: float
    sigmoids: SigmoidSum | None = None
    error: float = 0.0

    @classmethod
    def square(cls) -> "Loss":
        """``f(r) = r²/2`` (Lemma 23); its derivative is r and takes no block."""
        return cls("square", lambda r: r, 1.0)

    @classmethod
    def logistic(cls) -> "Loss":
        """``f(r) = log(1 + e^-r)``: f' is sigmoid(r) - 1, two sigmoids exactly, the second of slope 0.

        With labels ±1 folded into the points, r = w · (y x), it is the loss of logistic regression.
        """
        zeros = torch.zeros(2, dtype=torch.float64)
        sigmoids = SigmoidSum(torch.tensor([1.0, 0.0], dtype=torch.float64), zeros, zeros.new_tensor([1.0, -2.0]))
        return cls("logistic", lambda r: r.sigmoid() - 1, 0.25, sigmoids)

    @classmethod
    def huber(cls, delta: float, terms: int, steepness: float = 2.0) -> "Loss":
        """Huber's loss, ``r²/2`` up to |r| = delta and linear beyond: f' is r cut off at ±delta.

        With m equal steps of height h = 2 delta / m, each a sigmoid of slope ``steepness / h``, f' is missed by at most
        ``h (1/2 + log 2 / steepness)``: the sum is the midpoint rule for an integral of a rising function of the step's
        place, which errs by at most h/2, and the integral is f' with its two corners rounded off, by at most log 2 over
        the slope. The constant -delta is a sigmoid of slope 0.

        Args:
            delta: where the loss becomes linear, above 0.
            terms: m, at least 1; one more makes the constant.
            steepness: slope times h, above 0.

        Raises:
            ParameterError: a parameter out of its range.
        """
        require(delta=(delta, 1e-6, None), terms=(terms, 1, None), steepness=(steepness, 1e-6, None))
        step = 2 * delta / terms
        knots = -delta + step * (torch.arange(terms, dtype=torch.float64) + 0.5)
        slopes = torch.full_like(knots, steepness / step)
        sigmoids = SigmoidSum(
            torch.cat([slopes, slopes.new_zeros(1)]),
            torch.cat([-slopes * knots, slopes.new_zeros(1)]),
            torch.cat([torch.full_like(knots, step), knots.new_tensor([-2 * delta])]),
        )
        error = step * (0.5 + math.log(2) / steepness)
        return cls("Huber", lambda r: r.clamp(-delta, delta), 1.0, sigmoids, error)

    @classmethod
    def smooth_huber(cls) -> "Loss":
        """``f(r) = sqrt(1 + r²) - 1``: f' is r / sqrt(1 + r²), for the inner loop."""
        return cls("smooth Huber", lambda r: r * (1 + r**2).rsqrt(), 1.0)

    @property
    def functions(self) -> dict[str, Function]:
        """The functions for the interpreter of a program, with ``slope`` for f'."""
        return {**FUNCTIONS, "slope": on_first_entry(self.derivative)}

    def blocks(self, program: FleqProgram) -> list[FunctionBlock]:
        """The blocks of a program: those for matrices, and the sum of sigmoids for f' if there is one."""
        blocks = standard_blocks(program)
        return blocks if self.sigmoids is None else [*blocks, SigmoidSumBlock("slope", self.sigmoids)]

    def error_bound(
        self,
        x: Float[Tensor, "points d"],
        y: Float[Tensor, " points"],
        iterates: Float[Tensor, "iterates d"],
        lr: float,
        slope: float = 1e-7,
    ) -> float:
        """Bound on the distance of the machine's weights from the plain ones, for descent point after point.

        An error of w becomes at most max(1, lr curvature |x|² - 1) times as large in a step. The step adds |x| lr
        times the error of f', and the errors of three products, c z²/2 + rounding / c for an entry z.

        Args:
            x, y: points and labels.
            iterates: of the plain descent.
            lr: the step size.
            slope: c of the product block.

        Raises:
            ParameterError: a slope that is not positive.
        """
        require(slope=(slope, 1e-30, None))

        def off(entry: float) -> float:
            return slope * entry**2 / 2 + ROUNDING / slope

        bound = 0.0
        for number, w in enumerate(iterates[:-1]):
            point, label = x[number % len(x)], y[number % len(x)]
            length, entry = point.norm().item(), abs((w @ point).item())
            first = off(entry + length * bound)
            step = lr * (abs(self.derivative(w @ point - label).item()) + self.error + self.curvature * length * bound)
            scaled = lr * (self.error + self.curvature * first) + off(step + lr * self.curvature * first)
            placed = math.sqrt(len(point)) * off((step + scaled) * point.abs().max().item())
            bound = max(1.0, lr * self.curvature * length**2 - 1) * bound + length * scaled + placed
        return bound


def smooth_huber_sigmoids(terms: int, steepness: float = 2.0) -> SigmoidSum:
    """A sum for the derivative r / sqrt(1 + r²): m equal steps at the places where it has risen by half a step more.

    Args:
        terms: m, at least 2; one more makes the constant.
        steepness: a sigmoid's slope times the distance to the nearer place, above 0.

    Raises:
        ParameterError: a parameter out of its range.
    """
    require(terms=(terms, 2, None), steepness=(steepness, 1e-6, None))
    levels = -1 + (2 * torch.arange(terms, dtype=torch.float64) + 1) / terms
    knots = levels / (1 - levels**2).sqrt()
    gaps = torch.diff(knots)
    slopes = steepness / torch.minimum(torch.cat([gaps[:1], gaps]), torch.cat([gaps, gaps[-1:]]))
    return SigmoidSum(
        torch.cat([slopes, slopes.new_zeros(1)]),
        torch.cat([-slopes * knots, slopes.new_zeros(1)]),
        torch.cat([torch.full_like(knots, 2 / terms), knots.new_tensor([-2.0])]),
    )


def smooth_huber_by_rounds(rounds: int, largest: float) -> Derivative:
    """The inner loop's approximation of the derivative r / sqrt(1 + r²) in exact products (Algorithm 11).

    Args:
        rounds: of the loop, at least 1.
        largest: |r| up to which the loop is made.

    Raises:
        ParameterError: a parameter out of its range.
    """
    require(rounds=(rounds, 1, None), largest=(largest, 1.0, None))
    square = (1 + largest**2) / 2

    def derivative(r: Tensor) -> Tensor:
        s = (1 + r**2) / square
        return r * inverse_root_iterates(s, rounds)[-1] / math.sqrt(square)

    return derivative


#: f' by the block ``slope``, and by the inverse root of Algorithm 11 on S = (1 + r²) / K².
_BY_SIGMOIDS = ["temp = slope(temp)"]
_BY_LOOP = [
    "s = mul(temp, temp)",
    "s = add(s, one)",
    "s = mul(range, s)            # S = (1 + r^2) / K^2",
    "root = add(one, zero)",
    "t = add(from, zero)",
    "inner{place}: u = mul(root, root)",
    "u = mul(s, u)",
    "u = sub(three, u)            # 3 - S x^2",
    "root = mul(root, u)",
    "root = mul(half, root)",
    "t = add(t, one) if t <= 0 goto inner{place}",
    "root = mul(norm, root)       # 1 / sqrt(1 + r^2)",
    "temp = mul(root, temp)",
]


def loss_listing(points: int, inner: bool = False, together: bool = False) -> str:
    """The program for a number of points: f' by sigmoids, or by the inner loop; point after point, or ``together``.

    Raises:
        ParameterError: no point.
    """
    require(points=(points, 1, None))
    lines = ["epoch:"]
    for place in range(1, points + 1):
        lines += [f"temp = mul(x{place}, w)          # w · x", f"temp = sub(temp, y{place})"]
        lines += [line.format(place=place) for line in (_BY_LOOP if inner else _BY_SIGMOIDS)]
        lines += ["temp = mul(eta, temp)", f"turned = transpose(x{place})", "temp = mul(turned, temp)"]
        lines += ["g = add(g, temp)" if together else "w = sub(w, temp)"]
    lines += ["w = sub(w, g)", "g = add(zero, zero)"] if together else []
    lines += ["k = add(k, one) if k <= 0 goto epoch", "halt"]
    return "\n".join(line if ":" in line.split("#")[0] else f"        {line}" for line in lines)


def loss_program(
    w: Float[Tensor, " d"],
    x: Float[Tensor, "points d"],
    y: Float[Tensor, " points"],
    lr: float,
    epochs: int,
    together: bool = False,
    inner: int = 0,
    largest: float = 4.0,
) -> FleqProgram:
    """Gradient descent for the loss whose derivative the function ``slope`` is, or by the inner loop.

    The points lie beside one another, each with its own copy of the update. The weights end in ``w``.

    Args:
        w, x, y: the start, points and labels.
        lr: the step size.
        epochs: passes over the points.
        together: one step a pass, with the sum over all points, in place of one step a point.
        inner: rounds of the inner loop for the smooth Huber loss; 0 takes the function ``slope``.
        largest: |r| up to which the inner loop is made: K² is (1 + largest²) / 2, so that S lies between 1/K² and 2.

    Raises:
        ParameterError: epochs below 1, a negative number of rounds, ``largest`` below 1.
    """
    require(epochs=(epochs, 1, None), inner=(inner, 0, None), largest=(largest, 1.0, None))
    square = (1 + largest**2) / 2
    points: dict[str, float | Tensor] = {f"x{place}": point[:, None] for place, point in enumerate(x, start=1)}
    labels: dict[str, float | Tensor] = {f"y{place}": float(label) for place, label in enumerate(y, start=1)}
    variables = {**points, **labels, "w": w[:, None], "eta": lr, "temp": 0.0, "turned": 0.0, "k": 1.0 - epochs}
    if together:
        variables["g"] = 0.0
    if inner:
        variables |= {"s": 0.0, "u": 0.0, "root": 0.0, "t": 0.0, "three": 3.0, "half": 0.5}
        variables |= {"from": 1.0 - inner, "range": 1 / square, "norm": square**-0.5}
    text = loss_listing(len(x), inner > 0, together)
    return assemble(text, variables, x.shape[1], functions=[*FUNCTIONS, "slope"])
