"""Newton's iterations for the inverse and for the inverse root, in their own arithmetic, for all inputs."""

import sympy
import torch

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.looped_transformers.programs.newton import newton_residuals, newton_step
from attention_theory.looped_transformers.programs.power_iteration import inverse_root_iterates, inverse_root_step


def certify_newton(size: int = 2) -> Certificate:
    """Algorithm 3: a step squares the residual, ``I - A X' = (I - A X)²``, for all matrices; hence it is quadratic.

    From ``ε Aᵀ`` the first residual is ``I - ε A Aᵀ``, whose largest eigenvalue ``1 - ε σ²`` is below 1 for an
    invertible A: its powers vanish.
    """
    a, x = (_symbols(name, size) for name in "ax")
    one = sympy.eye(size)
    residual, after = one - a * x, one - a * newton_step(a, x, one)
    squared = residual * residual
    scale, value, largest = z3.Reals("scale value largest")
    contracts = smt.prove(
        [value > 0, value <= largest, scale * largest == 1],
        z3.And(1 - scale * value >= 0, 1 - scale * value < 1),
        "an eigenvalue of the first residual, for one of A Aᵀ, value; scale is 1 / ||A||²",
    )

    def run(values: Counterexample) -> tuple[str, bool]:
        of_square, most = float(values["value"]), float(values["largest"])
        turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)  # its square is -1
        matrix = torch.block_diag(abs(of_square) ** 0.5 * turn, torch.tensor([[most**0.5]], dtype=torch.float64))
        last = newton_residuals(matrix, 6, "printed", float(values["scale"]))[-1].item()
        words = f"from ε A with an A whose square has the eigenvalues {of_square:g} and {most:g}"
        return f"{words} the residual is {last:.3g} after 6 steps", of_square < 0 and last > 1

    printed = smt.prove(
        [value != 0, largest > 0, -largest <= value, value <= largest, scale * largest == 1],
        z3.And(1 - scale * value >= 0, 1 - scale * value < 1),
    )
    return certify(
        "A step of Newton's iteration squares the residual I - A X, and from A transposed over ||A||² all eigenvalues "
        "of the first residual are in [0, 1). So it converges quadratically.",
        f"all real matrices A and X of side {size}; the start by its eigenvalues, not by the code, for every "
        "invertible A",
        [*_entries(after, squared), contracts],
        Control.of("the start is a multiple of A, whose eigenvalues may have any sign", printed, run),
    )


def _symbols(name: str, size: int) -> sympy.Matrix:
    return sympy.Matrix(size, size, lambda row, column: sympy.Symbol(f"{name}{row + 1}{column + 1}"))


def _entries(left: sympy.Matrix, right: sympy.Matrix) -> list[Answer]:
    return [algebra.identity(ours, theirs) for ours, theirs in zip(left, right, strict=True)]


def certify_inverse_root() -> Certificate:
    """Algorithm 11: from 1 the iteration converges to ``1 / sqrt(S)`` for every S with 0 < S < 3.

    With ``u = sqrt(S) x``, a step with S = 1, all iterates after the first are in (0, 1], where each step brings u
    nearer to 1, at last quadratically.
    """
    u = z3.Real("u")
    after = inverse_root_step(u, z3.RealVal(1))
    s, x = sympy.symbols("s x", positive=True)
    scaled = algebra.identity(
        sympy.nsimplify(s * inverse_root_step(x, s**2)), sympy.nsimplify(inverse_root_step(s * x, 1)), "u = s x, S = s²"
    )
    lands = smt.prove([u > 0, u * u < 3], z3.And(after > 0, after <= 1), "from the start u = sqrt(S)")
    climbs = smt.prove(
        [u > 0, u < 1], z3.And(after > u, 1 - after <= 1.5 * (1 - u) * (1 - u)), "afterwards it rises, quadratically"
    )

    def run(values: Counterexample) -> tuple[str, bool]:
        square = torch.tensor(float(values["u"]) ** 2, dtype=torch.float64)
        last = inverse_root_iterates(square, 60)[-1].item()
        return f"for S = {square.item():.4g} the iteration is at {last:.4g} after 60 steps", not abs(
            last - square.item() ** -0.5
        ) < 1e-6

    beyond = smt.prove([u > 0, u * u < 5], z3.And(after > 0, after <= 1))
    return certify(
        "The iteration for the inverse root converges to 1/sqrt(S) from 1, and quadratically at last.",
        "all real S with 0 < S < 3",
        [scaled, lands, climbs],
        Control.of("S up to 5", beyond, run),
    )
