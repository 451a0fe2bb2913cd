"""Counts of the chapter, compared for all sizes: parameters, examples that are certain, and labels within reach.

A count is a function of the package. Its polynomial is read from values, so that no question restates a formula.
"""

from collections.abc import Callable
from functools import partial

import sympy
import torch
from jaxtyping import Bool
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, exhaust, smt
from attention_theory.certificates.algebra import Polynomial, polynomial_of
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.certificates.smt import z3
from attention_theory.memorization.attention import capacity, parameter_count, random_heads, random_readout
from attention_theory.memorization.certified.polynomials import promise_of_theorem_1
from attention_theory.memorization.exact_rank import reachable_dimensions
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.key_width import dimension_count
from attention_theory.validation import require


def certify_parameter_count() -> Certificate:
    """Text after Theorem 1: the number of weights, and its order in the three settings.

    For all sizes, by sympy (the count of the built weights is that of the formula) and z3 (the orders).
    """
    linear = dict.fromkeys(("heads", "width", "head_width", "value_width", "outputs"), (1, 1))
    symbols = sympy.symbols("H d d_h d_v d_out")
    weights, formula = polynomial_of(_built_weights, **linear), polynomial_of(parameter_count, **linear)
    printed = polynomial_of(partial(parameter_count, form="printed"), **linear)
    H, n, d = z3.Reals("H n d")
    sizes = [H >= 1, n >= 1, d >= n]
    orders = {
        "(1) d_h = d, d_v = d_out = 1: of order H d^2": (formula(H, d, d, 1, 1), H * d * d),
        "(2) d_h = n, d_v = d_out = 1: of order H d n": (formula(H, d, n, 1, 1), H * d * n),
        "(3) d_h = d_v = d_out = d: of order H d^2": (formula(H, d, d, d, d), H * d * d),
    }
    answers = [algebra.identity(weights(*symbols), formula(*symbols), "entries of the weights of a built layer")]
    answers += [smt.prove(sizes, z3.And(2 * o <= p, p <= 5 * o), words) for words, (p, o) in orders.items()]
    promise = promise_of_theorem_1()(H, n)
    half = z3.And(H * n <= 2 * promise, promise <= H * n)
    answers.append(smt.prove([H >= 1, n >= 2], half, "for n >= 2 the promise of Theorem 1 is of order H n"))

    def run(values: Counterexample) -> tuple[str, bool]:
        H, d, d_h, d_v, d_out = (abs(values.get(str(symbol), 1)) for symbol in symbols)
        counted, said = _built_weights(H, d, d_h, d_v, d_out), parameter_count(H, d, d_h, d_v, d_out, form="printed")
        return f"a layer with {counted} weights, {said} by the paper's formula", counted != said

    broken = algebra.identity(weights(*symbols), printed(*symbols))
    return certify(
        "A layer has 2 H d d_h + 2 H d d_v + d d_out weights; in the three settings they are from 2 to 5 times H d^2, "
        "H d n and H d^2, and with two or more tokens the guaranteed number of examples is from H n / 2 to H n.",
        "all sizes",
        answers,
        Control.of("the output weights W_O are left out, as in the paper's formula", broken, run),
    )


def certify_more_heads() -> Certificate:
    """Section 5.2, conclusion (1): with a shared context every head adds ``(n - 1) (d + 1)`` labels within reach.

    And more than ``d + 1`` times as many heads are promised more than fewer have within reach. For all sizes, by sympy
    and z3.
    """
    shared, separate = _reach(shared=True), _reach(shared=False)
    promise = promise_of_theorem_1()
    H, n, d = sympy.symbols("H n d")
    gain = algebra.identity(shared(H + 1, n, d) - shared(H, n, d), (n - 1) * (d + 1), "gain by a head")
    few, many, tokens, width = z3.Ints("few many n d")
    sizes = [few >= 1, tokens >= 2, width > tokens, many > (width + 1) * few]

    def more(reach: Polynomial, words: str = "") -> Answer:
        return smt.prove(sizes, promise(many, tokens) > reach(few, tokens, width), words)

    def run(values: Counterexample) -> tuple[str, bool]:
        few, many, n, d = (int(values[name]) for name in ("few", "many", "n", "d"))
        promised, within = capacity(many, n, n), dimension_count(few, n, d, d, shared=False)
        return f"{promised} examples are promised, {within} labels within reach", promised <= within

    return certify(
        "With a shared context every head adds (n - 1)(d + 1) to the count of labels within reach, and more than d + 1 "
        "times as many heads are promised more than the fewer have within reach.",
        "all H >= 1, n >= 2, d > n; d_h = d, one output",
        [gain, more(shared, "promise of many heads against the reach of few")],
        Control.of("a context for each example", more(separate), run),
    )


def certify_longer_contexts() -> Certificate:
    """Section 5.2, conclusion (2): a token adds ``H (d + 1)`` labels within reach of a shared context.

    With a context for each example it adds none. For all sizes, by sympy.
    """
    shared, separate = _reach(shared=True), _reach(shared=False)
    H, n, d = sympy.symbols("H n d")
    gain = algebra.identity(shared(H, n + 1, d) - shared(H, n, d), H * (d + 1), "gain by a token, shared context")
    none = algebra.identity(separate(H, n + 1, d) - separate(H, n, d), 0, "gain by a token, separate contexts")

    more, wider = sympy.symbols("more wider")  # n = 1 + more and d = n + 1 + wider are sizes of layers
    sizes = {n: 1 + more, d: 2 + more + wider}
    gained = (separate(H, n + 1, d) - separate(H, n, d)).subs(sizes)
    broken = algebra.identity(gained, (H * (d + 1)).subs(sizes), "gain by a token, n = 1 + more, d = n + 1 + wider")

    def run(values: Counterexample) -> tuple[str, bool]:
        heads, tokens = values["H"], 1 + values.get("more", 1)
        width = tokens + 1 + values.get("wider", 1)
        counts = [dimension_count(heads, size, width, width, shared=False) for size in (tokens, tokens + 1)]
        words = f"H = {heads}, d = {width}: {counts[0]} within reach at n = {tokens}, {counts[1]} at {tokens + 1}"
        return words, counts[1] - counts[0] != heads * (width + 1)

    return certify(
        "A token adds H (d + 1) to the count of labels within reach of a shared context, and none with separate ones.",
        "all H >= 1, n >= 2, d > n + 1; d_h = d, one output",
        [gain, none],
        Control.of("the same gain with a context for each example", broken, run),
    )


def certify_key_width(heads: int = 3, width: int = 12) -> Certificate:
    """Section 5.2, conclusion (3): with a shared context the labels within reach grow up to ``d_h = n - 1`` only.

    By exhaustion over all sizes up to the given ones.

    Raises:
        ParameterError: no head, or a width below 4.
    """
    require(heads=(heads, 1, None), width=(width, 4, None))
    sizes = {"H": heads, "n": width - 2, "d": width + 1, "d_h": width}

    def holds(shared: bool) -> Callable[[Batch], Bool[Tensor, " members"]]:
        def of(batch: Batch) -> Bool[Tensor, " members"]:
            cases = zip(*(batch[name].tolist() for name in ("H", "n", "d", "d_h")), strict=True)
            return torch.tensor([_gains_up_to_n(H + 1, n + 2, d, d_h + 1, shared) for H, n, d, d_h in cases])

        return of

    def run(values: Counterexample) -> tuple[str, bool]:
        H, n, d, d_h = values["H"] + 1, values["n"] + 2, values["d"], values["d_h"] + 1
        examples = sample_examples(2 * H * d * (d + 1), n, d, shared=False, law="integer")
        within = [reachable_dimensions(examples, H, key_width) for key_width in (d_h, d_h + 1)]
        words = f"H = {H}, n = {n}, d = {d}: rank {within[0]} at d_h = {d_h}, {within[1]} at {d_h + 1}"
        return words, within[1] > within[0] and d_h >= n - 1

    words = "labels within reach at d_h + 1 exceed those at d_h if and only if d_h < n - 1; H, d_h from 1, n from 2"
    control = Control.of("a context for each example", exhaust.every(sizes, holds(False), words), run)
    return certify(
        "With a shared context the count of labels within reach grows with the key width up to n - 1 and not beyond.",
        f"H up to {heads}, d up to {width}, n from 2 to d - 1, d_h from 1 to d",
        exhaust.every(sizes, holds(True), words),
        control,
    )


def _gains_up_to_n(heads: int, tokens: int, width: int, head_width: int, shared: bool) -> bool:
    """Test whether one more key gives more labels exactly where ``d_h < n - 1``; true outside ``n < d`` and ``d_h <
    d``.
    """
    if tokens >= width or head_width >= width:
        return True
    before, after = (dimension_count(heads, tokens, width, keys, shared) for keys in (head_width, head_width + 1))
    return after > before if head_width < tokens - 1 else after == before


def _reach(shared: bool) -> Polynomial:
    """The count of labels within reach at ``d_h = d``, of heads, tokens and width."""
    return polynomial_of(lambda H, n, d: dimension_count(H, n, d, d, shared), H=(1, 1), n=(2, 1), d=(6, 2))


def _built_weights(heads: int, width: int, head_width: int, value_width: int, outputs: int) -> int:
    """The entries of all weights of a layer that is built."""
    layer = random_heads(heads, width, head_width, 0)
    readout = random_readout(heads, width, value_width, outputs, 0)
    return sum(part.numel() for part in (layer.keys, layer.queries, readout.values, readout.output, readout.decode))
