"""Every certificate of the room: proved, and its control failed as it says."""

from collections.abc import Callable

import pytest

from attention_theory.certificates import Certificate
from attention_theory.looped_transformers.certified import (
    access,
    adder,
    approximation,
    branch,
    codes,
    errors,
    iterations,
    minsky,
    programs,
    sigmoids,
    squares,
    subleq_cycle,
)
from attention_theory.looped_transformers.subleq.machine import SubleqMachine

#: What was observed where the control failed, for those of whose control something is known.
EVERY: dict[str, tuple[Callable[[], Certificate], str]] = {
    "read": (lambda: access.certify_read(4), ""),
    "write": (lambda: access.certify_write(4), ""),
    "adder": (lambda: adder.certify_adder(adder.adder_layer(12)), "is wrong"),
    "subtraction": (lambda: adder.certify_subtraction(12), "modulo 4096"),
    "noise of a sum": (lambda: adder.certify_adder_noise(adder.adder_layer(12)), "is off by"),
    "noise of the choice": (branch.certify_selection_noise, "2F + 2D is"),
    "ramps": (adder.certify_ramps, ""),
    "reciprocal by steps": (approximation.certify_reciprocal_steps, ""),
    "root by steps": (approximation.certify_root_steps, ""),
    "reciprocal by sigmoids": (approximation.certify_reciprocal_sigmoids, ""),
    "inversion": (approximation.certify_inversion, ""),
    "root by sigmoids": (approximation.certify_root_sigmoids, ""),
    "root at scales": (approximation.certify_root_at_scales, ""),
    "program for the inverse": (lambda: programs.certify_newton_program(2), "a round makes"),
    "program for descent": (lambda: programs.certify_descent_program(2, 2), "the weights are"),
    "one head": (lambda: sigmoids.certify_one_head(3), "leaves 1 and not"),
    "entry of a product": (lambda: errors.certify_product_entry(3), "is off by"),
    "Huber": (approximation.certify_huber, ""),
    "flag of an integer": (branch.certify_integer_flag, ""),
    "flag of bits": (branch.certify_bits_flag, ""),
    "flag of six bits": (lambda: branch.certify_bits_flag(6), ""),
    "choice of the counter": (lambda: branch.certify_selection(2), ""),
    "codes": (lambda: codes.certify_codes(5), ""),
    "integers": (lambda: codes.certify_integers(10), ""),
    "copy": (lambda: codes.certify_copy_error(4), ""),
    "Newton on numbers": (lambda: iterations.certify_newton(1), ""),
    "Newton on matrices": (lambda: iterations.certify_newton(2), ""),
    "inverse root": (iterations.certify_inverse_root, ""),
    "translation": (minsky.certify_translation, ""),
    "bounded registers": (lambda: minsky.certify_bounded_registers(16), "32767 + 1 is -32768"),
    "squares": (squares.certify_squares, ""),
    "looped product": (squares.certify_looped_product, "is off by"),
    "cycle of four layers": (lambda: subleq_cycle.certify_cycle(SubleqMachine(3, 2, 4)), "and not"),
    "cycle of six layers": (lambda: subleq_cycle.certify_cycle(SubleqMachine(3, 2, 6)), "and not"),
    "cycle of ten layers": (lambda: subleq_cycle.certify_cycle(SubleqMachine(3, 2, 10)), "and not"),
}


@pytest.mark.parametrize("name", EVERY)
def test_it_is_settled(name: str) -> None:
    certify, observed = EVERY[name]
    certificate = certify()
    assert certificate.settled, certificate.control
    assert observed in certificate.control.observed
