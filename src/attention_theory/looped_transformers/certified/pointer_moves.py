"""Instructions that move pointers (Appendix O), for all addresses, numbers and functions."""

from fractions import Fraction

import torch

from attention_theory.certificates import Answer, Certificate, Control, certify, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.looped_transformers.certified.columns import Column, feed_forward
from attention_theory.looped_transformers.certified.fleq_layers import (
    after,
    layer_of,
    run_layer,
    signs,
    takes_only,
)
from attention_theory.looped_transformers.certified.words import ONE, Linear, Row, Words
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.machine.layers import DenseLayer


def certify_pointer_moves(machine: FleqMachine) -> Certificate:
    """Appendix O: an instruction that moves pointers adds to the addresses that are meant, or replaces them.

    Args:
        machine: with pointer blocks.
    """
    layout = machine.layout
    rows, bits = layout.rows, layout.bits
    layer = layer_of(machine, "3")
    question, state = _ask_noisy_move(machine)

    def run(values: Counterexample) -> tuple[str, bool]:
        seen = run_layer(layer, state, values)[list(rows["pointers"][:bits])].tolist()
        return f"the bits of the moved address are {seen}", any(abs(bit) != 1 for bit in seen)

    return certify(
        "A pointer move adds its number to the addresses that its function names, modulo 2^L, or puts it in their "
        "place, and leaves the others; any other instruction clears them.",
        f"L = {bits}; all addresses, all numbers, each of the 2^{layout.function_bits} codes of functions",
        ask_pointer_moves(machine),
        Control.of("a bit of the address may be off by a quarter", question, run),
    )


def ask_pointer_moves(machine: FleqMachine) -> list[Answer]:
    """Prove the three addresses that follow under each function; what is plain from the weights is not asked."""
    layer, layout = layer_of(machine, "3"), machine.layout
    return [answer for code in range(2**layout.function_bits) for answer in _ask_move(layer, layout, code)]


def _ask_move(layer: DenseLayer, layout: FleqLayout, code: int) -> list[Answer]:
    """Ask for the three addresses that follow under one function, for all addresses and numbers."""
    rows, bits, words = layout.rows, layout.bits, Words()
    function = layout.function_codes[code].tolist()
    for word in ("a", "b", "c", "number"):
        words.add(word, bits, [0])
    column: Column = {row: {ONE: Fraction(sign)} for row, sign in zip(rows["function"], function, strict=True)}
    column |= dict(zip(rows["to target"], words.bits("number"), strict=True))
    fields = {name: rows["pointers"][k * bits : (k + 1) * bits] for k, name in enumerate("abc")}
    for name, field in fields.items():
        column |= dict(zip(field, words.bits(name), strict=True))
        words.define(f"{name} + number", bits, Linear({name: 1, "number": 1}))
    takes_only(layer, rows["pointers"], {*column, rows["not out"][0]})
    outputs = feed_forward(layer.w1, layer.b1, layer.w2, layer.b2, column)
    answers = []
    for place, (name, field) in enumerate(fields.items()):
        meant, put = function[1 + place] > 0, function[0] > 0
        word = ("number" if put else f"{name} + number") if meant else name
        wanted: list[Row] = words.bits(word) if function[-1] > 0 else [{}] * bits
        for row, bit in zip(field, wanted, strict=True):
            network = outputs[row]
            if network.units or network.linear != bit:
                answers.append(network.equals(bit, words, f"function {code}, row {row} of {name}"))
    return answers


def _ask_noisy_move(machine: FleqMachine) -> tuple[Answer, dict[int, Term]]:
    """Ask whether a sum is still of signs if one bit of the address is off by a quarter."""
    layout = machine.layout
    rows, bits = layout.rows, layout.bits
    code = torch.tensor([-1.0, 1.0] + [-1.0] * (layout.function_bits - 3) + [1.0])
    field, amount = signs("a", bits), signs("number", bits)
    state = dict(zip(rows["function"], [z3.RealVal(int(bit)) for bit in code.tolist()], strict=True))
    state |= dict(zip(rows["pointers"][:bits], field, strict=True)) | dict(zip(rows["to target"], amount, strict=True))
    state[rows["not out"][0]] = z3.RealVal(0)
    found = after(layer_of(machine, "3"), list(rows["pointers"][:bits]), state)
    given = [smt.among(bit, (-1, 1)) for bit in (*field[1:], *amount)] + [smt.within(field[0], 0.75, 1)]
    return smt.prove(given, z3.And([smt.among(bit, (-1, 1)) for bit in found.values()])), state
