from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.exact_domain import sufficient_inverse_temperature
from attention_theory.looped_transformers.subleq.language import random_program
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.validation import ParameterError


@pytest.mark.parametrize(
    "options",
    [{"depth": 4, "gate": 1.0}, {"depth": 6, "scratch": 2}, {"depth": 10, "real": True, "scratch": 2}],
    ids=str,
)
def test_options_of_ten_layers_with_bits_are_refused_elsewhere(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="idle scratchpad columns are for bits in rows and depth 10 only"):
        SubleqMachine(4, 8, **options)


@pytest.mark.parametrize("rule", ["softmax", "hardmax"])
def test_a_real_row_for_an_integer_does_what_a_row_for_each_bit_does(rule: str) -> None:
    """Integers of 7 bits stay within 48 bits for 40 steps: a step doubles the largest at most."""
    machine = SubleqMachine(5, 48, depth=4, real=True, rounded=False)
    sources = [random_program(10, 16, 7, seed) for seed in range(20)]
    assert conformance(machine, sources, 40, rule=rule, by="layers").wrong == 0  # type: ignore[arg-type]


@given(address_bits=st.integers(2, 12), bits=st.integers(2, 50))
@settings(max_examples=20, deadline=None)
def test_the_rows_of_real_integers_do_not_grow_with_their_length(address_bits: int, bits: int) -> None:
    plain = SubleqMachine(address_bits, bits, depth=4, real=True, rounded=False)
    rounding = SubleqMachine(address_bits, bits, depth=10 if bits >= 7 else 5, real=True)
    assert plain.rows.size == rounding.rows.size == 8 * address_bits + 6
    assert len(plain.layers) == 4
    assert len(rounding.layers) == (10 if bits >= 7 else 5)


@pytest.mark.parametrize("depth", [4, 5, 7, 10])
def test_real_rows_with_a_staircase_are_right_at_the_temperature_of_the_proof(depth: Depth) -> None:
    machine = SubleqMachine(5, 8, depth, real=True)
    sources = [random_program(10, 16, 4, seed) for seed in range(20)]
    steps = 4  # a step doubles the largest at most
    heat = sufficient_inverse_temperature(8, 5)
    assert conformance(machine, sources, steps, heat, by="layers").wrong == 0
    assert conformance(machine, sources, steps, rule="hardmax", by="layers").wrong == 0
