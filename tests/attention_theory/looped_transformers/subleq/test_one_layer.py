from itertools import product

import pytest

from attention_theory.looped_transformers.machine.codes import address_bits
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.subleq.conformance import conformance
from attention_theory.looped_transformers.subleq.exact_domain import sufficient_inverse_temperature
from attention_theory.looped_transformers.subleq.language import SubleqProgram, program, random_program
from attention_theory.looped_transformers.subleq.one_layer import OneLayerMachine


def machine_of(source: SubleqProgram, bits: int) -> OneLayerMachine:
    return OneLayerMachine(address_bits(source.columns()), bits)


@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize(("cells", "instructions", "bits"), [(1, 1, 2), (3, 5, 3), (6, 10, 8), (4, 20, 16)])
def test_random_programs_run_as_the_interpreter_does(cells: int, instructions: int, bits: int, wild: bool) -> None:
    sources = [random_program(cells, instructions, bits, seed, wild) for seed in range(8)]
    machine = machine_of(sources[0], bits)
    heat = sufficient_inverse_temperature(bits, machine.address_bits, depth=1)
    for inverse_temperature, rule in ((heat, "softmax"), (30.0, "softmax"), (1.0, "hardmax")):
        found = conformance(machine, sources, 15, inverse_temperature, rule, by="layers", beyond=3)  # type: ignore[arg-type]
        assert found.wrong == 0


def test_all_pairs_of_instructions_and_all_memories_of_two_bits() -> None:
    """Every aliasing of two instructions in a row, with every jump."""
    triples, memories = list(product((2, 3), (2, 3), (0, 1, 2))), list(product(range(-2, 2), repeat=2))
    sources = [program(memory, pair) for pair in product(triples, repeat=2) for memory in memories]
    assert conformance(OneLayerMachine(3, 2), sources, 3, by="layers").wrong == 0


def test_one_layer_one_head_and_as_many_rows_and_columns_as_said() -> None:
    source = random_program(5, 7, 6, seed=0)
    machine = OneLayerMachine(5, 6)
    size = summarise(machine)
    assert (size.layers, size.heads, size.width) == (1, 1, 17 * 5 + 2 * 6 + 8)
    assert machine.load(source).shape == (4 * 7 + 2 * 8 + 5, size.width)
    assert machine.columns(source) == 4 * 7 + 2 * 8 + 5


def test_a_temperature_that_is_too_high_spoils_the_result() -> None:
    sources = [random_program(4, 6, 6, seed) for seed in range(12)]
    assert conformance(machine_of(sources[0], 6), sources, 10, 1.5, by="layers").wrong > 0
