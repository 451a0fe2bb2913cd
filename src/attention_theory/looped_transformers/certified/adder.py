"""The adder of Lemma 2 for numbers of any length, its differences and its noise, and the ramps of Step 6 (App. G)."""

from fractions import Fraction

import torch

from attention_theory.certificates import Answer, Certificate, Control, certify, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers.certified.columns import Column, Network, feed_forward
from attention_theory.looped_transformers.certified.words import ONE, Words, pieces
from attention_theory.looped_transformers.machine.adder import add
from attention_theory.looped_transformers.machine.codes import from_bits, to_bits
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.looped_transformers.machine.rounding import correct
from attention_theory.rows import Rows
from attention_theory.validation import refuse_unless, require

#: One unit of a bit's window: ``outer relu(first A + second B + slope h + constant)``.
Window = tuple[Fraction, Fraction, Fraction, Fraction, Fraction]


def adder_layer(bits: int, last_pair: bool = True, sign: int = 1, constant: int = 0) -> Layer:
    """A layer that adds the numbers in rows ``a`` and ``b``, and the constant.

    With the sign -1 it adds the flipped bits of b, so that with the constant 1 it subtracts b, as four and six layers
    of the SUBLEQ machine do.
    """
    rows = Rows(a=bits, b=bits, sum=bits)
    layer = Layer(rows, "add")
    add(layer, [(rows["a"], 1), (rows["b"], sign)], rows["sum"], constant, last_pair=last_pair)
    return layer


def certify_adder(layer: Layer) -> Certificate:
    """Lemma 2: the adder is right for numbers of every length.

    Bit number i of the sum depends on A and B, the numbers that bits 0 to i of the terms are. Its units depend on them
    and on ``h = 2**i`` alone, in the same way for every i; this is read from the layer. So one question with h as a
    variable is about all bits of all lengths.

    Raises:
        ParameterError: a layer whose units are not those of one family.
    """
    last = len(layer.rows["sum"])

    def run(values: Counterexample) -> tuple[str, bool]:
        h, first, second = (int(values.get(name, 0)) for name in "hAB")
        bit = h.bit_length() - 1
        terms = to_bits(torch.tensor([first, second]), last)
        state = torch.cat([terms.flatten(), torch.zeros(last, dtype=torch.float64)])[None]
        total = adder_layer(last, last_pair=False).dense.feed_forward(state)[0, 2 * last :]
        seen, wanted = int(from_bits(total).item()), (first + second) % 2**last
        return f"{first} + {second} = {seen}, bit {bit} is wrong", (seen ^ wanted) >> bit & 1 == 1

    control = Control.of(
        "the window that needs both carries is left out", ask_adder(adder_layer(last, last_pair=False)), run
    )
    return certify(
        "One layer of ReLU units adds two numbers in binary.",
        "all numbers of every length, with exact weights, which float64 holds up to 52 bits; the family of units is "
        f"read from a layer of {last} bits",
        ask_adder(layer),
        control,
    )


def certify_subtraction(bits: int) -> Certificate:
    """Beyond Lemma 1: one layer subtracts numbers of every length, modulo ``2**d``.

    Args:
        bits: of the layer from which the family of units is read.

    Raises:
        ParameterError: fewer than two bits.
    """
    require(bits=(bits, 2, None))
    careless = adder_layer(bits, sign=-1)

    def run(values: Counterexample) -> tuple[str, bool]:
        first, second = (int(values.get(name, 0)) for name in "AB")
        state = torch.cat([to_bits(torch.tensor([first, second]), bits).flatten(), torch.zeros(bits).double()])[None]
        seen = int(from_bits(careless.rows.view(careless.dense.feed_forward(state), "sum")[0]).item())
        return f"{first} - {second} = {seen} modulo {2**bits}", seen != (first - second) % 2**bits

    return certify(
        "One layer of ReLU units subtracts two numbers in binary: it adds 1 and the flipped bits of the second.",
        "all numbers of every length, modulo 2^d, with exact weights; the family of units is read from a layer of "
        f"{bits} bits",
        ask_adder(adder_layer(bits, sign=-1, constant=1), sign=-1),
        Control.of("the constant 1 is left out", ask_adder(careless, sign=-1), run),
    )


def certify_adder_noise(layer: Layer) -> Certificate:
    """Lemma 2 in Step 6: a bit of the sum is off by at most twice what the sum of the lowest bits is.

    Raises:
        ParameterError: a layer whose units are not those of one family.
    """
    size = len(layer.rows["sum"])

    def run(values: Counterexample) -> tuple[str, bool]:
        h, first, second, off = (float(values.get(name, 0)) for name in ("h", "A", "B", "off"))
        numbers = to_bits(torch.tensor([int(first), int(second)]), size).flatten()
        exact = torch.cat([numbers, torch.zeros(size, dtype=torch.float64)])[None]
        noisy = exact.clone()
        noisy[0, 0] += 2 * off  # the lowest bit of A counts half of what its row is off by
        bit = int(h).bit_length() - 1
        before, after = (layer.rows.view(layer.dense.feed_forward(x), "sum")[0, bit].item() for x in (exact, noisy))
        moved = abs(after - before)
        return f"a sum that is off by {off:.3g} moves bit {bit} by {moved:.3g}", moved > abs(off)

    return certify(
        "A bit of the sum is off by at most twice what the sum of the lowest bits is.",
        f"all numbers of every length, all real errors; the family of units is read from a layer of {size} bits",
        _ask_noise(layer, 2),
        Control.of("once as much", _ask_noise(layer, 1), run),
    )


def _ask_noise(layer: Layer, factor: int) -> Answer:
    """Ask whether an error of the sum moves each bit by at most so many times itself."""
    (h, first, second), off = z3.Ints("h A B"), z3.Real("off")
    exact, noisy = _total(layer, h, first, second), _total(layer, h, first + off, second)
    moved, most = noisy - exact, factor * z3.If(off > 0, off, -off)
    powers = z3.Or([h == 2**place for place in range(len(layer.rows["sum"]))])
    given = [*_ranges(h, first, second), *([] if factor == 2 else [powers])]
    return smt.prove(given, z3.And(-most <= moved, moved <= most), "bits 0 to i of two numbers, whose sum is off")


def ask_adder(layer: Layer, sign: int = 1) -> Answer:
    """Ask whether the units of a bit give ±1 for the bit of ``A + B`` whose value is h, for every power of two h.

    Args:
        layer: of :func:`adder_layer`.
        sign: -1 for the bit of ``A - B`` modulo 2 h.

    Raises:
        ParameterError: a layer whose units are not those of one family.
    """
    h, first, second = z3.Ints("h A B")
    total, both = _total(layer, h, first, second), first + second if sign > 0 else first - second + 2 * h
    is_set = z3.Or(z3.And(h <= both, both < 2 * h), z3.And(3 * h <= both, both < 4 * h))
    # A question about all h holds for powers of two; a counterexample has to be one.
    powers = z3.Or([h == 2**place for place in range(len(layer.rows["sum"]))])
    ranges = _ranges(h, first, second)
    answer = smt.prove(ranges, total == z3.If(is_set, 1, -1), "bits 0 to i of two numbers, h = 2**i")
    return answer if answer.outcome == "proved" else smt.prove([*ranges, powers], total == z3.If(is_set, 1, -1))


def _ranges(h: Term, first: Term, second: Term) -> list[Term]:
    """``h = 2**i``, and two numbers of bits 0 to i."""
    return [h >= 1, first >= 0, first < 2 * h, second >= 0, second < 2 * h]


def _total(layer: Layer, h: Term, first: Term, second: Term) -> Term:
    """The bit of the sum whose value is h, from the numbers that bits 0 to i of the terms are."""
    base, windows = family_of_units(layer)
    total = smt.rational(base)
    for a, b, slope, constant, outer in windows:
        inner = smt.affine(map(float, (a, b, slope)), (first, second, h), float(constant))
        total = total + smt.rational(outer) * smt.relu(inner)
    return total


def family_of_units(layer: Layer) -> tuple[Fraction, list[Window]]:
    """The constant and the units of a bit, as functions of h, A and B that are the same for all bits of a layer.

    Raises:
        ParameterError: units that are not one family.
    """
    size, built, words = len(layer.rows["sum"]), layer.dense, Words()
    column: Column = {}
    for name in ("a", "b"):
        words.add(name, size, [0])
        column |= dict(zip(layer.rows[name], words.bits(name), strict=True))
    outputs = feed_forward(built.w1, built.b1, built.w2, built.b2, column, linear=False)
    readings = [_reading(outputs[row], place) for place, row in enumerate(layer.rows["sum"])]
    (base, _), (_, first), (_, second) = readings[0], readings[0], readings[1]
    family = [
        (*unit[:2], other[2] - unit[2], 2 * unit[2] - other[2], unit[3])
        for unit, other in zip(first, second, strict=True)
    ]
    for place, (constant, units) in enumerate(readings):
        expected = [(a, b, slope * 2**place + offset, outer) for a, b, slope, offset, outer in family]
        refuse_unless(
            constant == base and units == expected,
            f"layer must have the same units for every bit, as functions of its value; those of bit {place} are others",
        )
    return base, family


def _reading(network: Network, place: int) -> tuple[Fraction, list[tuple[Fraction, Fraction, Fraction, Fraction]]]:
    """The constant and for each unit the weights of A and B, the constant at this place, and the outer weight."""
    units = []
    for outer, row in network.units:
        weights, constant = {"a": Fraction(0), "b": Fraction(0)}, row.get(ONE, Fraction(0))
        for name, low, high, weight in pieces(row):
            refuse_unless(
                (low, high) == (0, place + 1), f"layer must add bits 0 to {place} as a number, got other weights"
            )
            weights[name] = 2 * weight
            constant -= weight * (2**high - 1)
        units.append((weights["a"], weights["b"], constant, outer))
    refuse_unless({*network.linear} <= {ONE}, "layer must keep nothing of the terms in the sum, got a linear part")
    return network.linear.get(ONE, Fraction(0)), units


def certify_ramps(margin: float = 0.25) -> Certificate:
    """Appendix G, Step 6: the ramps put -1, 0 or 1 in place of every value within the margin of it.

    Args:
        margin: the paper's ε, a float whose slope ``1 / (1 - 2 margin)`` is exact, such as 1/4.
    """
    layer = Layer(Rows(value=1), "correct errors")
    correct(layer, [0], margin)
    built, value, nearest = layer.dense, z3.Real("value"), z3.Int("nearest")
    rounded = smt.feed_forward(built.w1, built.b1, built.w2, built.b2, {0: value})[0]
    is_right = rounded == nearest

    def near(distance: float) -> list[Term]:
        return [smt.among(nearest, (-1, 0, 1)), smt.within(value - nearest, -distance, distance)]

    def run(values: Counterexample) -> tuple[str, bool]:
        state = torch.tensor([[float(values["value"])]], dtype=torch.float64)
        seen = built.feed_forward(state).item()
        return f"{float(values['value'])} is rounded to {seen}", seen != values.get("nearest", 0)

    return certify(
        "The ramps of Step 6 return -1, 0 or 1, exactly, for every value within the margin of it.",
        f"all real values, margin {margin}",
        smt.prove(near(margin), is_right, "rounding by ramps"),
        Control.of(f"values within {1.2 * margin} of -1, 0 or 1", smt.prove(near(1.2 * margin), is_right), run),
    )
