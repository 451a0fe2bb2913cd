"""The square by ReLU networks (Appendix J.4): how near a network comes, and how near any can come, and a looped one."""

import torch

from attention_theory.certificates import Answer, Certificate, Control, certify, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.looped_transformers.blocks.relu_square import ReluNetwork, least_distance, looped_product


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
    """Ask whether a line over a piece of ``1 / (w + 1)^L`` or more is off by the least distance at an end or the
    middle.
    """
    slope, shift, start, length, error = z3.Reals("slope shift start length error")
    misses = [(slope * x + shift - x * x) for x in (start, start + length / 2, start + length)]
    near = [z3.And(-error <= miss, miss <= error) for miss in misses]
    return smt.prove(
        [*near, length * (width + 1) ** depth >= 1],
        error >= smt.rational(least_distance(width, depth)),
        f"a line over a piece of at least 1 / {width + 1}^{depth}",
    )


def ask_square(network: ReluNetwork, distance: float) -> Answer:
    """Ask whether a network is within a distance of x² at every x of [0, 1], with the numbers that its weights are."""
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


def certify_looped_product() -> Certificate:
    """One layer, looped: the product of two numbers up to ``4^-t / 2`` after t passes, for all of [0, 1] and all t.

    The proof is by induction. With ``q(h) = s h - h²`` the invariant is ``s (p - xy) = 2 q(m) - q(h)/2 - q(k)/2``, for
    the numbers x and y at the start and the entries m, h, k of the state, which lie between 0 and s.
    """
    layer, scale, start = looped_product().dense, z3.Real("s"), z3.Reals("x y")

    def after_a_pass(state: list[smt.Term]) -> list[smt.Term]:
        rows = dict(enumerate(state))
        after = smt.feed_forward(layer.w1, layer.b1, layer.w2, layer.b2, rows)
        return [after[row] for row in rows]

    def invariant(state: list[smt.Term], product: smt.Term) -> smt.Term:
        s, *summands, p = state
        total = z3.Sum([w * (s * h - h * h) for w, h in zip((2, -z3.Q(1, 2), -z3.Q(1, 2)), summands, strict=True)])
        return z3.And(s > 0, *(z3.And(h >= 0, h <= s) for h in summands), s * (p - product) == total)

    def near(state: list[smt.Term], product: smt.Term) -> smt.Term:
        return z3.And(state[-1] - product <= state[0] / 2, state[-1] - product >= -state[0] / 4)

    state, product = [scale, *z3.Reals("m h k p")], z3.Real("xy")
    mean, (x, y) = (start[0] + start[1]) / 2, start
    first = [z3.RealVal(1), mean, x, y, mean]
    inside = [z3.And(number >= 0, number <= 1) for number in start]
    every = [
        smt.prove(inside, invariant(first, x * y), "the start"),
        smt.prove([invariant(state, product)], invariant(after_a_pass(state), product), "a pass keeps the invariant"),
        smt.prove([invariant(state, product)], after_a_pass(state)[0] == scale / 4, "a pass divides s by four"),
        smt.prove([invariant(state, product)], near(state, product), "the invariant bounds the error by s / 2"),
    ]

    def run(values: Counterexample) -> tuple[str, bool]:
        x, y = (float(values.get(name, 0)) for name in "xy")
        after = layer.feed_forward(torch.tensor([[1.0, (x + y) / 2, x, y, (x + y) / 2]], dtype=torch.float64))
        off = after[0, -1].item() - x * y
        return f"at x = {x:g}, y = {y:g} a pass is off by {off:g}", not -1 / 16 <= off <= 1 / 8

    broken = smt.prove([x >= 0, x <= 2, *inside[1:]], near(after_a_pass(first), x * y))
    return certify(
        "One ReLU layer with fixed weights, looped t times, is within 4^-t / 2 of xy.",
        "all real x and y in [0, 1] and every t",
        every,
        Control.of("x up to 2", broken, run),
    )
