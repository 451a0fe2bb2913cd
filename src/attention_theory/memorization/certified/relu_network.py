"""The ReLU network beside attention, for all sizes, weights and inputs (Section 4.3, Appendix F)."""

import sympy
import torch

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, smt
from attention_theory.certificates.algebra import Polynomial, polynomial_of
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.memorization.attention import capacity, parameter_count
from attention_theory.memorization.certified.polynomials import combination, promise_of_theorem_1
from attention_theory.memorization.relu_network import apply_network, fold_prefix, network_size, random_network
from attention_theory.validation import Form, require


def certify_fold(tokens: int, width: int) -> Certificate:
    """Proposition 3: on the hard data the network is one with n inputs, of ``(n + 1) m + (m + 1) d_out`` parameters.

    For all weights and biases of a unit, all constant parts and all inputs, by sympy: the new bias is bilinear in
    weights and constant part and is read at units. The parameters of the folded network are counted for all sizes.

    Raises:
        ParameterError: no token, or a width that is not above the number of tokens.
    """
    require(tokens=(tokens, 1, None))
    require(width=(width, tokens + 1, None))
    constant = (tokens + 1) * width - tokens
    n, m, d_out = sympy.symbols("n m d_out")
    size = polynomial_of(_folded_size, n=(1, 1), m=(1, 1), d_out=(1, 1))(n, m, d_out)
    counted = algebra.identity(size, d_out * ((n + 1) * m / d_out + m + 1), "parameters of the folded network")

    def run(values: Counterexample) -> tuple[str, bool]:
        names = _inputs(constant, tokens)
        x, unit = (
            torch.tensor([[float(values.get(name, 0)) for name in some]], dtype=torch.float64)
            for some in (names, _weights(names))
        )
        both = torch.tensor([1.0, -1.0], dtype=torch.float64)  # relu(z) - relu(-z) = z
        bias = float(values.get("b", 0)) * both
        network = {"W1": both[:, None] * unit, "b1": bias, "W2": both[None], "b2": torch.zeros(1, dtype=torch.float64)}
        folded = fold_prefix(network, x[0, :constant], "printed")
        apart = (apply_network(folded, x[:, constant:]) - apply_network(network, x)).abs().max().item()
        return f"the outputs of a network with this unit and its fold differ by {apart:.3g}", apart > 1e-6

    broken = _sees_the_same(constant, tokens, "printed")
    return certify(
        "A network folds its constant inputs into the bias, and the folded one has d_out times "
        "(n + 1) m / d_out + m + 1 parameters.",
        f"all weights, biases and inputs with n = {tokens}, d = {width}; the count for all n, m and d_out",
        [_sees_the_same(constant, tokens, "correct"), counted],
        Control.of("the constant part is taken off the bias, as in the paper's proof", broken, run),
    )


def _sees_the_same(constant: int, tokens: int, form: Form) -> Answer:
    """Test whether a unit sees the same number before and after folding."""
    names = _inputs(constant, tokens)
    weights = sympy.symbols(_weights(names))
    inputs, bias = sympy.symbols(names), sympy.Symbol("b")
    units, zeros = torch.eye(len(names), dtype=torch.float64), torch.zeros(len(names), dtype=torch.float64)
    rest = fold_prefix({"W1": units, "b1": zeros + 1}, zeros[:constant], form)
    columns = [fold_prefix({"W1": units, "b1": zeros}, unit[:constant], form)["b1"] for unit in units[:constant]]
    columns += [*rest["W1"].mT]
    parts = [combination(column.tolist(), weights) for column in columns]
    folded = combination(rest["b1"][:1].tolist(), [bias])
    folded += sum(part * number for part, number in zip(parts, inputs, strict=True))
    full = bias + sum(weight * number for weight, number in zip(weights, inputs, strict=True))
    return algebra.identity(folded, full, "what a unit sees after folding and before")


def _inputs(constant: int, tokens: int) -> list[str]:
    return [*(f"c_{place + 1}" for place in range(constant)), *(f"x_{place + 1}" for place in range(tokens))]


def _weights(inputs: list[str]) -> list[str]:
    return [f"w_{place + 1}" for place in range(len(inputs))]


def _folded_size(tokens: int, hidden: int, outputs: int) -> int:
    """The parameters of a network that was folded."""
    inputs = (tokens + 1) ** 2
    network = random_network(inputs, hidden, outputs, 0)
    folded = fold_prefix(network, torch.ones(inputs - tokens, dtype=torch.float64))
    return sum(part.numel() for part in folded.values())


def certify_as_powerful() -> Certificate:
    """Text after Proposition 3: attention is promised an eighth of what a network of its size can be certain of.

    For all H, all n from 2 on, all d above n and all m, by z3: a network with ``(n + 1) d`` inputs, m units and no more
    parameters than attention with ``d_h = n`` and one output.
    """
    attention, promise, network, most = _bounds_of_both()
    H, n, d, m = z3.Reals("H n d m")
    sizes = [H >= 1, d >= n + 1, m >= 1, network(n, d, m) <= attention(H, d, n)]
    holds = 8 * promise(H, n) >= most(n, m)

    def run(values: Counterexample) -> tuple[str, bool]:
        H, n, m = (int(values.get(name, 1)) for name in ("H", "n", "m"))
        certain, bound = capacity(H, n, n), network_size(n, m, 1)
        return f"attention is promised {certain}, the network's bound is {bound}", 8 * certain < bound

    whole = [z3.IsInt(size) for size in (H, n, d, m)]
    control = Control.of("contexts of a single token", smt.prove([*sizes, n == 1, *whole], holds), run)
    return certify(
        "At equal parameters the lower bound of attention is at least an eighth of the upper bound of a ReLU network.",
        "all H >= 1, n >= 2, d > n and every m with which the network has no more parameters; d_h = n, d_v = d_out = 1",
        smt.prove([*sizes, n >= 2], holds, "promise of Theorem 1 against Proposition 3, d_h = n, d_out = 1"),
        control,
    )


def _bounds_of_both() -> tuple[Polynomial, Polynomial, Polynomial, Polynomial]:
    """Parameters and promise of attention, parameters and upper bound of the network."""
    return (
        polynomial_of(lambda H, d, n: parameter_count(H, d, n, 1, 1), H=(1, 1), d=(1, 1), n=(1, 1)),
        promise_of_theorem_1(),
        polynomial_of(lambda n, d, m: network_size((n + 1) * d, m, 1), n=(1, 1), d=(1, 1), m=(1, 1)),
        polynomial_of(lambda n, m: network_size(n, m, 1), n=(1, 1), m=(1, 1)),
    )
