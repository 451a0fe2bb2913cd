"""Parameters of blocks, for all sizes (Remark F.4)."""

from functools import cache

import sympy

from attention_theory.certificates import Certificate, Control, algebra, certify, smt
from attention_theory.certificates.algebra import polynomial_of
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.hyper_attention.layers.hyper_feature_attention import HyperFeatureAttention


def certify_block_parameters() -> Certificate:
    """Remark F.4: 4 d^2 without value product, and (A - 1) d^2 more with it, by the entries of built blocks.

    The count is taken to be a polynomial in heads, order and width of a part; its degrees are tried at one size more.
    """
    H, A, k = sympy.symbols("H A k")
    d = H * A * k
    degrees = {"H": (1, 2), "A": (1, 3), "k": (1, 2)}
    without = polynomial_of(lambda H, A, k: _count(H * A * k, (A,) * H, False), **degrees)
    product = polynomial_of(lambda H, A, k: _count(H * A * k, (A,) * H, True), **degrees)
    mixed = polynomial_of(lambda a, b: _count(2 * a * b, (a, b), True), a=(1, 3), b=(1, 3))
    a, b = sympy.symbols("a b")
    h, order, part = z3.Reals("H A k")
    sizes = [h >= 1, order >= 2, part > 0]
    excess, plain = product(h, order, part) - without(h, order, part), without(h, order, part)

    def run(values: Counterexample) -> tuple[str, bool]:
        H, A, k = (abs(int(values[name])) for name in ("H", "A", "k"))
        counted = _count(H * A * k, (A,) * H, True)
        return f"{counted} parameters, not {4 * (H * A * k) ** 2}", counted != 4 * (H * A * k) ** 2

    return certify(
        "A block has 4 d^2 parameters without value product; with it (A - 1) d^2 more, which is at least a quarter of "
        "4 d^2 from order 2 on. For two heads of different orders, A is their mean.",
        "all numbers of heads, all orders and all widths that they divide; the count is taken to be a polynomial",
        [
            algebra.identity(without(H, A, k), 4 * d**2, "without value product"),
            algebra.identity(product(H, A, k), (3 + A) * d**2, "with value product"),
            algebra.identity(mixed(a, b), (3 + (a + b) / 2) * (2 * a * b) ** 2, "heads of orders a and b, d = 2 a b"),
            smt.prove(sizes, 4 * excess >= plain, "the excess is at least a quarter from order 2 on"),
        ],
        Control.of("with value product, the count without it", algebra.identity(product(H, A, k), 4 * d**2), run),
    )


@cache
def _count(width: int, orders: tuple[int, ...], value_product: bool) -> int:
    """The entries of all weights of a block, which has no numbers."""
    block = HyperFeatureAttention(width, len(orders), list(orders), value_product=value_product, device="meta")
    return sum(weights.numel() for weights in block.parameters())
