"""Every certificate of the room: proved, its control failed as it says, and code that is wrong is noticed."""

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch

from attention_theory.certificates import Certificate
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum
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
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.validation import ParameterError

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
    "cycle of four layers": (lambda: subleq_cycle.certify_cycle(SubleqMachine(3, 2, 4)), "instead of"),
    "cycle of six layers": (lambda: subleq_cycle.certify_cycle(SubleqMachine(3, 2, 6)), "instead of"),
    "cycle of ten layers": (lambda: subleq_cycle.certify_cycle(SubleqMachine(3, 2, 10)), "instead of"),
}


@pytest.mark.parametrize("name", EVERY)
def test_it_is_settled(name: str) -> None:
    certify, observed = EVERY[name]
    certificate = certify()
    assert certificate.settled, certificate.control
    assert observed in certificate.control.observed


def flipped(code: torch.Tensor) -> torch.Tensor:
    code[5, 1] *= -1
    return code


def lower_step(built: SigmoidSum, error: float, _: float) -> SigmoidSum:
    built.heights[3] += 2 * error
    return built


def other_operand(number: int) -> Callable[..., Any]:
    """One more in an operand of the instruction that jumps if the register is 0."""

    def wrong(made: Any, *_: Any) -> Any:
        code = list(made.code)
        code[4] = tuple(part + (place == number) for place, part in enumerate(code[4]))
        return replace(made, code=tuple(code))

    return wrong


def in_last_bit(weights: str, seed: int, zero: bool = False) -> Callable[..., Any]:
    """Move a weight, or a zero, of a layer to the next float. The gates are left out: they have room."""

    def wrong(made: Layer | None, *given: Any) -> Layer | None:
        layer: Layer = made or given[0]  # some declare their units on a layer, and return nothing
        matrix = getattr(layer.dense if weights in ("w1", "w2") else layer.dense.heads[0], weights)
        gates = {*layer.rows["indicator"]} if weights == "w1" and "indicator" in layer.rows else set()
        places = (matrix.eq(0) if zero else matrix).nonzero().tolist()
        place = tuple(random.Random(seed).choice([place for place in places if place[1] not in gates]))
        matrix[place] = torch.nextafter(matrix[place], torch.tensor(99.0, dtype=matrix.dtype))
        return made

    return wrong


BRANCHES = {
    "flag_of_integer": branch.certify_integer_flag,
    "flag_of_bits": lambda: branch.certify_bits_flag(6),
    "select_counter": lambda: branch.certify_selection(2),
}
#: A module, the function that it calls, what is wrong of what this gives, and what must not be proved then.
WRONG: list[tuple[Any, str, Callable[..., Any], Callable[[], Any]]] = [
    (approximation, "root_sigmoids", lower_step, approximation.certify_root_sigmoids),
    (codes, "position_codes", lambda made, *_: flipped(made), lambda: codes.certify_codes(4)),
    (codes, "position_codes", lambda made, *_: flipped(made), lambda: codes.certify_copy_error(3)),
    (iterations, "newton_step", lambda made, a, x, _: made + x - x @ a @ x, lambda: iterations.certify_newton(2)),
    (iterations, "inverse_root_step", lambda made, x, _: made + x / 2, iterations.certify_inverse_root),
    *((minsky, "translate", other_operand(number), lambda: minsky.ask_instruction(1)) for number in range(3)),
    *(
        (access, "access_layer", in_last_bit(weights, 1, zero), partial(certify, 3))
        for certify in (access.certify_read, access.certify_write)
        for weights in ("key", "query", "value", "w1", "w2")
        for zero in (False, True)
    ),
    *((branch, name, in_last_bit(part, 0), certify) for name, certify in BRANCHES.items() for part in ("w1", "w2")),
]


@pytest.mark.parametrize(("module", "name", "wrong", "certify"), WRONG)
def test_what_is_wrong_is_noticed(
    module: Any, name: str, wrong: Callable[..., Any], certify: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **named: wrong(exact(*given, **named), *given))
    with suppress(ParameterError):  # units that are no longer one family are refused
        assert certify().outcome != "proved"


def test_a_sum_that_falls_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    falling = SigmoidSum(*(torch.tensor([value], dtype=torch.float64) for value in (-1.0, 0.0, 1.0)))
    monkeypatch.setattr(approximation, "root_sigmoids", lambda error, most: falling)
    with pytest.raises(ParameterError, match="sigmoids that rise"):
        approximation.certify_root_sigmoids()
