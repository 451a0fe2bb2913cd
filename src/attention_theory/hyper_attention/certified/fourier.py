"""Series on a loop and position codes, with proven errors (Lemma B.4, Theorem B.6)."""

import sympy
import torch

from attention_theory.certificates import Answer, Certificate, Control, algebra, balls, certify, exact
from attention_theory.certificates.balls import flint
from attention_theory.certificates.certificate import Counterexample
from attention_theory.hyper_attention.interactions.fourier import (
    attention_matrix,
    dtfs,
    position_code,
    window_coefficients,
)
from attention_theory.hyper_attention.worlds.collisions import window_matrix
from attention_theory.validation import Form

#: The most by which floats may be off: a coefficient, and a value of f whose largest is 1.
_OFF_COEFFICIENT, _OFF_VALUE = 2e-14, 1e-13


def certify_window_series() -> Certificate:
    """Lemma B.4: the closed form is the series of the window, for every N, every whole 2R and every frequency.

    With ``y^2 = z = e^{2πik/N}``, the sum of ``z^n`` over ``|n| <= m`` times ``y - 1/y`` is ``y^{2m+1} - y^{-2m-1}``:
    at m = 0 the sum is 1, and the step from m to m + 1 is an identity in y and ``u = y^{2m+1}``. The floats of the code
    are compared with balls of the series.
    """
    y, u = sympy.symbols("y u", nonzero=True)
    step = (u * y + 1 / (u * y)) * (y - 1 / y)
    sizes = [(period, radius) for period in range(2, 41) for radius in range((period - 1) // 4 + 1)] + [(360, 5)]

    def run(values: Counterexample) -> tuple[str, bool]:
        off = (dtfs(window_matrix(12, 3)[0]) - window_coefficients(12, 3, "printed")).abs().max().item()
        found = float(flint.arb(values["value"]))
        return f"N = 12, R = 3: a coefficient is off by {off:.3g}", found > 0.01 and abs(off - found) < 1e-12

    return certify(
        "The sum over the window, times sin(πk/N), is sin(2π(2R + 1/2)k/N); the coefficients of the code are those of "
        "the window up to 2e-14.",
        "all N, whole 2R and k with 4R + 1 <= N; the code's own numbers at N = 2 to 40, every such whole R, and at "
        "N = 360, R = 5",
        [
            algebra.identity(step, (u * y**2 - 1 / (u * y**2)) - (u - 1 / u), "what the sum grows by, times y - 1/y"),
            _ask_coefficients(sizes, "correct"),
        ],
        Control.of("4R + 1 > N: N = 12, R = 3", _ask_coefficients([(12, 3)], "printed"), run),
    )


def _ask_coefficients(sizes: list[tuple[int, int]], form: Form) -> Answer:
    """Whether no coefficient in closed form is further from the series of the window than it may be."""
    largest = flint.arb(0)
    for period, radius in sizes:
        places = window_matrix(period, radius)[0].nonzero().flatten().tolist()
        cosines = [flint.arb.cos_pi_fmpq(flint.fmpq(2 * place, period)) for place in range(period)]
        for frequency, closed in enumerate(window_coefficients(period, radius, form).tolist()):
            series = sum((cosines[place * frequency % period] for place in places), flint.arb(0)) / period
            largest = largest.max(abs(series - balls.ball(closed)))
    words = f"largest error of a coefficient in closed form, (N, R) = {', '.join(map(str, sizes))}"
    return balls.below(largest, _OFF_COEFFICIENT, words)


def certify_differences() -> Certificate:
    """Theorem B.6: the blocks represent every function of a difference, with the floats of the code.

    Blocks are taken to be linear in f, so those of functions that are 1 at one place make all of them. Their errors are
    added up exactly, as fractions.
    """

    def ask(period: int, form: Form) -> Answer:
        words = f"N = {period}: sizes of p_i C p_j - [n_i - n_j = m], added up over m, by n_i and n_j"
        return exact.at_most(_missed(period, form), _OFF_VALUE, words)

    def run(values: Counterexample) -> tuple[str, bool]:
        code, unit = position_code(4), torch.eye(4, dtype=torch.float64)
        place = (values["row"] - values["column"]) % 4
        value = code[values["row"]] @ attention_matrix(dtfs(unit[place], "printed")) @ code[values["column"]]
        return f"f = 1 at the difference {place}, and p_i C p_j = {value:.3g}", abs(value.item() - 1) > 1

    return certify(
        "p_i C p_j is f of the difference n_i - n_j, up to 1e-13 times the largest value of f.",
        "all real functions f of an even period N up to 16 and all pairs of places; C is taken to be linear in f",
        [ask(period, "correct") for period in range(4, 17, 2)],
        Control.of("coefficients without 1/N, as in Definition B.3", ask(4, "printed"), run),
    )


def _missed(period: int, form: Form) -> exact.Matrix:
    """For each pair of places, what the values are off for all units f together."""
    code = exact.matrix(position_code(period))
    missed = [[flint.fmpq(0)] * period for _ in range(period)]
    for place, unit in enumerate(torch.eye(period, dtype=torch.float64)):
        values = code * exact.matrix(attention_matrix(dtfs(unit, form))) * code.transpose()
        for row in range(period):
            for column in range(period):
                missed[row][column] += abs(values[row, column] - int((row - column) % period == place))
    return flint.fmpq_mat(missed)
