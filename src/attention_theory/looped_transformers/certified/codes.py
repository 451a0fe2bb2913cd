"""Codes of positions and of integers: inner products, the weight that a softmax gives, and the error of a copy."""

import math

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, exhaust, smt
from attention_theory.certificates.algebra import sympy
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.looped_transformers.machine.access import fetch
from attention_theory.looped_transformers.machine.codes import from_bits, position_codes, to_bits
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Rows
from attention_theory.validation import Form, require


def certify_codes(bits: int = 8) -> Certificate:
    """Appendix B.1: products of codes are ``L - 2 Hamming``, and the softmax weight of the right one is known.

    The weight is an identity in ``x = e^(-2 λ)``, with the exponents taken from the codes; so it is for all λ.

    Raises:
        ParameterError: bits outside 1 to 10.
    """
    require(bits=(bits, 1, 10))
    sizes = {"i": 2**bits, "j": 2**bits}
    codes = position_codes(2**bits, bits)

    def product_is_right(batch: exhaust.Batch) -> Tensor:
        apart = to_bits(batch["i"] ^ batch["j"], bits).gt(0).sum(-1)
        return (codes[batch["i"]] * codes[batch["j"]]).sum(-1) == bits - 2 * apart

    def is_smaller(batch: exhaust.Batch) -> Tensor:
        return (codes[batch["i"]] * codes[batch["j"]]).sum(-1) <= bits - 2

    def run(values: Counterexample) -> tuple[str, bool]:
        doubled, only = torch.cat([codes, codes[values["j"]][None]]), torch.zeros(len(codes) + 1, dtype=torch.float64)
        only[values["i"]] = 1
        weight, alone = _fetch(doubled, values["i"], only, 5.0), (1 + math.exp(-10)) ** -bits
        return f"with a second column of its code the weight is {weight:.3f}", weight < 0.6 * alone

    products = exhaust.every(sizes, product_is_right, f"products of codes of {bits} bits are L - 2 Hamming")
    return certify(
        "Two codes have the product L - 2 Hamming(i, j), at most L - 2 where they differ, and with all codes present "
        "the right column has the softmax weight (1 + exp(-2 λ))^-L.",
        f"L = {bits}, every pair of columns, every λ",
        [products, *_weights(codes)],
        Control.of(
            "two columns may have one code", exhaust.every(sizes, is_smaller, "products are at most L - 2"), run
        ),
    )


def _weights(codes: Tensor) -> list[Answer]:
    """For each code, one over its softmax weight, as a polynomial in ``x = e^(-2 λ)``; equal ones are asked once."""
    bits, x = codes.shape[1], sympy.Symbol("x")
    lists = {tuple(sorted((bits - codes @ code).div(2).tolist())) for code in codes}
    sums = [sum(x ** sympy.Rational(power) for power in powers) for powers in lists]
    return [algebra.identity(total, (1 + x) ** bits, "the sum of all weights over the right one") for total in sums]


def certify_integers(bits: int = 16) -> Certificate:
    """Appendix F.3: a number in two's complement is read back as it was, and its last bit is +1 if it is negative.

    Raises:
        ParameterError: bits outside 2 to 18.
    """
    require(bits=(bits, 2, 18))

    def is_right(batch: exhaust.Batch, form: Form = "correct") -> Tensor:
        numbers = batch["number"] - 2 ** (bits - 1)
        written = to_bits(numbers, bits)
        return (from_bits(written, signed=True, form=form) == numbers) & (written[..., -1].gt(0) == numbers.lt(0))

    def run(values: Counterexample) -> tuple[str, bool]:
        number = int(values["number"]) - 2 ** (bits - 1)
        seen = from_bits(to_bits(number, bits), signed=True, form="printed").item()
        return f"{number} is read as {seen}", seen != number

    sizes = {"number": 2**bits}
    return certify(
        "Every integer is read back from its bits, of which the last is +1 where it is negative.",
        f"N = {bits}, all integers of N bits",
        exhaust.every(sizes, is_right, "numbers in two's complement, from -2**(N - 1) on", 2**14),
        Control.of(
            "the sign as in the list of Appendix G",
            exhaust.every(sizes, lambda batch: is_right(batch, "printed"), "the same, with the other sign"),
            run,
        ),
    )


def certify_copy_error(bits: int = 5) -> Certificate:
    """Appendix L: a copy by addresses is wrong by at most ``G d n^3 e^-λ`` in the largest column sum, for every λ.

    Entries are at most G, so that one is wrong by at most 2 G times the weight of all other columns, and a column sum
    by d times that. G and d cancel: with ``y = e^-λ`` and the codes' exponents it is a polynomial inequality.

    Raises:
        ParameterError: bits outside 2 to 6.
    """
    require(bits=(bits, 2, 6))
    codes = position_codes(2**bits, bits)
    doubled = torch.cat([codes, codes[:1]])

    def run(values: Counterexample) -> tuple[str, bool]:
        y = float(values["y"])
        data = torch.ones(len(doubled), dtype=torch.float64)
        data[1:] = -1
        error, bound = abs(_fetch(doubled, 0, data, -math.log(y)) - 1), 8.0**bits * y
        return f"a copy is wrong by {error:.3f} G, and the bound is {bound:.3g} G", error > bound

    return certify(
        "Twice what a softmax over the codes fetches is wrong by at most G d n^3 exp(-λ) in the largest column sum, "
        "and an entry by at most 2 G L exp(-2 λ), at the column whose code is asked. (Other columns of a write may "
        "be off by more.)",
        f"L = {bits}, n = {2**bits} columns, every target, every λ >= 0, all data up to G",
        [_ask_copy(codes, place) for place in range(len(codes))],
        Control.of("the target's code is there twice", _ask_copy(doubled, 0, most=1e-6), run),
    )


def _fetch(codes: Tensor, target: int, data: Tensor, inverse_temperature: float) -> float:
    """Run a head that reads, on columns with these codes and one row of data: the mean that a column fetches."""
    rows = Rows(pointer=codes.shape[1], encoding=codes.shape[1], memory=1, scratch=1, buffer=1)
    layer = Layer(rows, "copy")
    fetch(layer, "copy", *(rows[name] for name in ("pointer", "encoding", "memory", "scratch", "buffer")))
    state = torch.zeros(len(codes), rows.size, dtype=torch.float64)
    rows.view(state, "encoding")[:], rows.view(state, "memory")[:, 0] = codes, data
    return rows.view(layer.dense.attend(state, inverse_temperature), "buffer")[target].item()


def _ask_copy(codes: Tensor, place: int, most: float = 1.0) -> Answer:
    """Ask whether twice the weight of all columns but one is within both bounds, for ``exp(-λ)`` up to ``most``."""
    bits = codes.shape[1]
    y = z3.Real("y")
    powers = (bits - codes @ codes[place]).tolist()
    counts = {int(power): powers.count(power) for power in sorted(set(powers))}
    total = z3.Sum([count * y**power if power else z3.RealVal(count) for power, count in counts.items()])
    small = 2 * (total - 1) <= 2 * bits * y * y * total
    bounded = 2 * (total - 1) <= 8**bits * y * total
    return smt.prove(
        [y > 0, y <= smt.rational(most)], z3.And(small, bounded), f"the copy of column {place}, y = exp(-λ)"
    )
