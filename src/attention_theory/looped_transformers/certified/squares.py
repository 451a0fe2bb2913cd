"""The square by ReLU networks (Appendix J.4): how near a network comes, and how near any can come."""

import torch

from attention_theory.certificates import Answer, Certificate, Control, certify, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.looped_transformers.blocks.relu_square import ReluNetwork, least_distance


def certify_squares(width: int = 7, depth: int = 4) -> Certificate:
    """Appendix J.4: a linear piece of length h misses x² by ``h²/8``, and the built networks reach their bound.

    A network with L layers of w units has at most ``(w + 1)^L`` pieces on [0, 1], so one of them has a length of
    ``1 / (w + 1)^L`` or more, and the error is at least :func:`least_distance`.

    Args:
        width: w, such that w + 1 is a power of two and floats hold the bound.
        depth: the largest L of the networks with three units in a layer.
    """
    deep = [ask_square(ReluNetwork.deep_square(layers), 4.0**-layers / 8) for layers in range(1, depth + 1)]
    wide = ask_square(ReluNetwork.wide_square(width + 1), 1 / (8 * (width + 1) ** 2))
    coarse = ReluNetwork.wide_square(width - 3)

    def run(values: Counterexample) -> tuple[str, bool]:
        x = torch.tensor(float(values["x"]), dtype=torch.float64)
        off = (coarse(x) - x**2).abs().item()
        return f"at {x.item():.4f} it is off by {off:.5f}", off > 1 / (8 * (width + 1) ** 2)

    return certify(
        "A line over a piece of length 1 / (w + 1)^L is somewhere at least 1 / 8 (w + 1)^2L away from x², and by "
        "counting a ReLU network of L layers of w units has such a piece. The network of one hidden layer of w units "
        "is within 1 / 8w² everywhere, and those of L layers of three units are within 1 / 8·4^L.",
        f"a piece: all lines and all intervals; w = {width} and L = 1 to {depth} for the bound, and the networks "
        f"built, with {width + 1} units or up to {depth} layers: all real x",
        [*(_ask_piece(width, layers) for layers in range(1, depth + 1)), wide, *deep],
        Control.of(
            f"{coarse.width} units in the place of {width + 1}", ask_square(coarse, 1 / (8 * (width + 1) ** 2)), run
        ),
    )


def _ask_piece(width: int, depth: int) -> Answer:
    """Whether a line over a piece of ``1 / (w + 1)^L`` or more is off by the least distance at an end or the middle."""
    slope, shift, start, length, error = z3.Reals("slope shift start length error")
    misses = [(slope * x + shift - x * x) for x in (start, start + length / 2, start + length)]
    near = [z3.And(-error <= miss, miss <= error) for miss in misses]
    return smt.prove(
        [*near, length * (width + 1) ** depth >= 1],
        error >= smt.rational(least_distance(width, depth)),
        f"a line over a piece of at least 1 / {width + 1}^{depth}",
    )


def ask_square(network: ReluNetwork, distance: float) -> Answer:
    """Whether a network is within a distance of x² at every x of [0, 1], with the numbers that its weights are."""
    x = z3.Real("x")
    state, defined = [x], []
    for number, (weight, bias) in enumerate(network.layers[:-1]):
        hidden = []
        for unit, (row, shift) in enumerate(zip(weight.tolist(), bias.tolist(), strict=True)):
            value = z3.Real(f"h{number}_{unit}")
            defined.append(value == smt.relu(smt.affine(row, state, shift)))
            hidden.append(value)
        state = hidden
    weight, bias = network.layers[-1]
    miss = smt.affine(weight[0].tolist(), state, bias[0].item()) - x * x
    words = f"a network of {network.depth} hidden layers of up to {network.width} units"
    return smt.prove([*defined, x >= 0, x <= 1], smt.within(miss, -distance, distance), words)
