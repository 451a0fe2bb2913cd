"""The flags of eqs. (3) and (4), and the choice of the next program counter, for all inputs."""

from fractions import Fraction

import torch

from attention_theory.certificates import Answer, Certificate, Control, certify, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.looped_transformers.machine.branch import flag_of_bits, flag_of_integer, select_counter
from attention_theory.looped_transformers.machine.codes import from_bits, to_bits
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.rows import Rows
from attention_theory.validation import Form, refuse_unless


def certify_integer_flag() -> Certificate:
    """Eq. (3): the flag is 1 for an integer that is at most 0, and else 0."""
    layer = Layer(Rows(value=1, flag=1, indicator=1), "flag")
    flag_of_integer(layer, value=0, flag=1, indicator=2)
    built, x = layer.dense, z3.Real("x")
    flag = smt.feed_forward(built.w1, built.b1, built.w2, built.b2, {0: x, 2: z3.RealVal(1)})[1]
    wanted = flag == z3.If(x <= 0, 1, 0)

    def run(values: Counterexample) -> tuple[str, bool]:
        number = float(values.get("x", 0))
        seen = built.feed_forward(torch.tensor([[number, 0.0, 1.0]], dtype=torch.float64))[0, 1].item()
        return f"the flag of {number} is {seen}", seen != float(number <= 0)

    return certify(
        "The three units of eq. (3) give 1 for an integer that is at most 0, and 0 for any other.",
        "every integer",
        smt.prove([z3.IsInt(x)], wanted, "the flag of an integer"),
        Control.of("x need not be whole", smt.prove([], wanted), run),
    )


def certify_bits_flag(most: int = 48) -> Certificate:
    """Eq. (4): the flag is 1 for a number in two's complement that is at most 0, for numbers of every length.

    As printed it is wrong for each of them. The units depend on the last bit, on the sum of all bits and on N alone, in
    the same way for every N: this is read from the layers of lengths 1 to ``most``.

    Raises:
        ParameterError: units that are not those of one family.
    """
    return certify(
        "The units of eq. (4) with 1 - N give 1 for a number in two's complement that is at most 0, and else 0. Those "
        "with 1 + N give another flag for every number.",
        f"all numbers of every length N >= 1; the family of units is read from the layers of 1 to {most} bits",
        [ask_bits_flag("correct", most), ask_bits_flag("printed", most, wrong=True)],
        Control.of("1 + N in place of 1 - N", ask_bits_flag("printed", 8), _run_printed_flag),
    )


def ask_bits_flag(form: Form, most: int, wrong: bool = False) -> Answer:
    """Ask whether the flag is right, with the length, the number of bits that are +1 and the last bit as variables.

    Args:
        form: of the constant.
        most: the longest layer that is read.
        wrong: whether the flag is wrong for every number instead.

    Raises:
        ParameterError: units that are not those of one family.
    """
    constant, slope = _family(form, most)
    length, ups, last = z3.Ints("N ups last")  # ups: how many of the bits before the last are +1
    total = 2 * (ups + last) - length
    negative = smt.relu(2 * last - 1)
    zero = smt.relu(-total + smt.rational(constant) + smt.rational(slope) * length)
    at_most_zero = z3.Or(last == 1, ups + last == 0)
    ranges = [length >= 1, ups >= 0, ups < length, smt.among(last, (0, 1))]
    question = "the flag of N bits, ups of them +1 before the last; at most 0 is the last +1, or none"
    is_right = negative + zero == z3.If(at_most_zero, 1, 0)
    return smt.prove(ranges, z3.Not(is_right) if wrong else is_right, f"{question}; {form}, wrong: {wrong}")


def _family(form: Form, most: int) -> tuple[Fraction, Fraction]:
    """The constant of the unit that finds zero, as ``constant + slope N``; all else in the units is checked."""
    constants = {}
    for length in range(1, most + 1):
        built = _flag_layer(length, form).dense
        bits, flag, indicator = slice(0, length), length, length + 1
        wanted = torch.zeros_like(built.w1)
        wanted[0, length - 1], wanted[1, bits] = 1, -1
        wanted[1, indicator] = built.w1[1, indicator]
        out = torch.zeros_like(built.w2)
        out[flag] = 1
        is_family = torch.equal(built.w1, wanted) and torch.equal(built.w2, out)
        refuse_unless(
            is_family and not built.b1.any() and not built.b2.any(),
            f"layer must take the last bit and the sum of all bits, got other weights for {length} bits",
        )
        constants[length] = Fraction(built.w1[1, indicator].item())
    slope = constants[2] - constants[1]
    base = constants[1] - slope
    refuse_unless(
        all(constant == base + slope * length for length, constant in constants.items()),
        f"layer must have constants in proportion to N, got {constants}",
    )
    return base, slope


def _flag_layer(length: int, form: Form) -> Layer:
    rows = Rows(bits=length, flag=1, indicator=1)
    layer = Layer(rows, "flag")
    flag_of_bits(layer, rows["bits"], rows["flag"][0], rows["indicator"][0], form)
    return layer


def _run_printed_flag(values: Counterexample) -> tuple[str, bool]:
    length, ups, last = (int(values.get(name, 0)) for name in ("N", "ups", "last"))
    length = min(length, 40)
    bits = to_bits(2 ** min(ups, length - 1) - 1 + last * 2 ** (length - 1), length)
    number = from_bits(bits, signed=True).item()
    state = torch.cat([bits, torch.tensor([0.0, 1.0], dtype=torch.float64)])[None]
    seen = _flag_layer(length, "printed").dense.feed_forward(state)[0, length].item()
    return f"the flag of {number} in {length} bits is {seen}", seen != float(number <= 0)


def certify_selection(bits: int = 8) -> Certificate:
    """Appendix B.3: the next counter is the target where the flag is 1, and the following one where it is 0.

    Every bit has its units, so that a question about each bit is about counters of all lengths.
    """
    rows = Rows(following=bits, jump=bits, counter=bits, flag=1, indicator=1)
    layer = Layer(rows, "select")
    select_counter(layer, rows["following"], rows["jump"], rows["counter"], rows["flag"][0], rows["indicator"][0])
    built, flag = layer.dense, z3.Real("flag")
    state = {row: z3.Real(f"{name} {place}") for name in rows.blocks for place, row in enumerate(rows[name])}
    state |= {rows["flag"][0]: flag, rows["indicator"][0]: z3.RealVal(1)}
    after = smt.feed_forward(built.w1, built.b1, built.w2, built.b2, state)
    signs = [smt.among(state[row], (-1, 1)) for name in ("following", "jump") for row in rows[name]]
    chosen = [
        z3.If(flag == 1, state[jump], state[following])
        for jump, following in zip(rows["jump"], rows["following"], strict=True)
    ]
    wanted = z3.And([after[row] == to for row, to in zip(rows["counter"], chosen, strict=True)])

    def run(values: Counterexample) -> tuple[str, bool]:
        numbers = torch.zeros(1, rows.size, dtype=torch.float64)
        for row, term in state.items():
            numbers[0, row] = float(values.get(str(term), 0))
        numbers[0, rows["indicator"][0]] = 1
        seen = rows.view(built.feed_forward(numbers), "counter")[0]
        choices = [rows.view(numbers, name)[0] for name in ("following", "jump")]
        half = numbers[0, rows["flag"][0]].item()
        return f"with the flag {half} the counter is {seen.tolist()}", not any(torch.equal(seen, to) for to in choices)

    outside = smt.prove([*signs, flag > 0, flag < 1], wanted)
    return certify(
        "The next counter is the target where the flag is 1 and the following one where it is 0, whatever it was.",
        f"counters, targets and following addresses of {bits} bits, any former counter",
        smt.prove([*signs, smt.among(flag, (0, 1))], wanted, "the choice of the next counter"),
        Control.of("the flag is between 0 and 1", outside, run),
    )


def certify_selection_noise() -> Certificate:
    """Appendix G: with noise F in the flag and D in the target the next counter is off by at most ``2 F + 2 D``.

    All bits have the same units, so that a question about one is about counters of all lengths. The following address
    has no noise: it is the sum of an exact counter and 1.
    """
    rows = Rows(following=1, jump=1, counter=1, flag=1, indicator=1)
    layer = Layer(rows, "select")
    to = [rows[name] for name in ("following", "jump", "counter")]
    select_counter(layer, to[0], to[1], to[2], rows["flag"][0], rows["indicator"][0])
    built, names = layer.dense, ("following", "jump", "flag")
    exact, off = ({name: z3.Real(f"{word}{name}") for name in names} for word in ("", "noise of "))
    flag, target = z3.Reals("F D")
    state = {rows[name][0]: exact[name] + off[name] for name in names} | {rows["indicator"][0]: z3.RealVal(1)}
    moved = smt.feed_forward(built.w1, built.b1, built.w2, built.b2, state)[rows["counter"][0]] - z3.If(
        exact["flag"] == 1, exact["jump"], exact["following"]
    )
    given = [smt.among(exact[name], (-1, 1)) for name in names[:2]] + [smt.among(exact["flag"], (0, 1))]
    given += [-most <= off[name] for name, most in (("jump", target), ("flag", flag))]
    given += [off[name] <= most for name, most in (("jump", target), ("flag", flag))]
    within = z3.And(-2 * (flag + target) <= moved, moved <= 2 * (flag + target))

    def run(values: Counterexample) -> tuple[str, bool]:
        numbers = torch.zeros(2, rows.size, dtype=torch.float64)
        for name in names:
            numbers[:, rows[name][0]] = float(values.get(name, 0))
            numbers[1, rows[name][0]] += float(values.get(f"noise of {name}", 0))
        numbers[:, rows["indicator"][0]] = 1
        right, seen = rows.view(built.feed_forward(numbers), "counter")[:, 0].tolist()
        most = 2 * float(values.get("F", 0)) + 2 * float(values.get("D", 0))
        return f"the counter is off by {abs(seen - right):.3g} and 2F + 2D is {most:.3g}", abs(seen - right) > most

    following = [-target <= off["following"], off["following"] <= target]
    return certify(
        "With noise up to F in the flag and up to D in the target, the next counter is off by at most 2F + 2D.",
        "counters of every length, all real noise, an exact following address",
        smt.prove([*given, off["following"] == 0], within, "a bit of the next counter with noise"),
        Control.of("the following address has noise up to D too", smt.prove([*given, *following], within), run),
    )
