import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_theory.looped_transformers.subleq.assembler import assemble
from attention_theory.looped_transformers.subleq.language import RESERVED, interpret, program, random_program


def test_a_program_worked_by_hand() -> None:
    source = program([5, 2], [(3, 2, 2), (3, 2, 2)])  # mem[2] -= mem[3], twice: 3, 1; then the end
    run = interpret(source, bits=8, steps=10)
    assert run.counters.tolist() == [1, 2]
    assert run.memories.tolist() == [[0, -1, 3, 2], [0, -1, 1, 2]]
    assert run.halted


def test_zero_branches_and_the_strict_reading_does_not() -> None:
    source = program([5], [(2, 2, 0), (0, 2, 2)])
    assert interpret(source, 8, 3).counters.tolist() == [0, 0, 0]
    assert interpret(source, 8, 3, form="printed").counters.tolist() == [1, 2]


def test_subtraction_wraps() -> None:
    assert interpret(program([-7, 7], [(3, 2, 1)]), bits=4, steps=1).memories[0, 2] == 2


@given(st.integers(1, 6), st.integers(1, 6), st.integers(2, 16), st.integers(0, 1000))
def test_random_programs_leave_the_reserved_cells(cells: int, instructions: int, bits: int, seed: int) -> None:
    source = random_program(cells, instructions, bits, seed)
    assert source == random_program(cells, instructions, bits, seed)
    assert source.columns() == cells + instructions + 4
    run = interpret(source, bits, 30)
    assert (run.memories[:, :2] == run.memories.new_tensor([0, -1])).all()


def test_wild_programs_go_to_the_limits() -> None:
    sources = [random_program(6, 8, 5, seed, wild=True) for seed in range(200)]
    memory = {value for source in sources for value in source.memory[len(RESERVED) :]}
    assert (min(memory), max(memory)) == (-16, 15)
    steps = [(place, *one) for source in sources for place, one in enumerate(source.code[:-1])]
    assert {b for _, _, b, _ in steps} == set(range(8))
    assert 0.2 < sum(place == c for place, _, _, c in steps) / len(steps) < 0.45


def test_random_programs_draw_from_the_whole_of_every_range() -> None:
    """Integers of three bits but the least one, every operand that is allowed, and every target."""
    sources = [random_program(4, 3, 3, seed) for seed in range(300)]
    memory = [value for source in sources for value in source.memory[len(RESERVED) :]]
    assert set(memory) == set(range(-3, 4))
    assert 0.25 < memory.count(0) / len(memory) < 0.5  # a quarter, and a seventh of the rest
    a, b, c = (set(one) for one in zip(*(step for source in sources for step in source.code[:-1]), strict=True))
    assert (a, b, c) == (set(range(6)), set(range(2, 6)), set(range(4)))


def test_a_padded_program_does_the_same_and_ends_in_the_new_last_instruction() -> None:
    for seed in range(50):
        source = random_program(3, 5, 6, seed)
        longer = source.padded(9, 12)
        assert (len(longer.memory), len(longer.code)) == (9, 12)
        ours, theirs = interpret(longer, 6, 30), interpret(source, 6, 29)
        steps = len(theirs)
        assert torch.equal(ours.memories[:steps, :5], theirs.memories)
        if theirs.halted:
            assert ours.halted
            assert len(ours) - steps in (0, 1)
            assert ours.counters[-1] == 11


def test_operands_stand_in_the_order_of_algorithm_1() -> None:
    source = assemble("x = 3\nlist = 1 2\nloop: x -= list[1] if <= 0 goto loop\ngoto loop\nhalt")
    lines = [
        "Instr. 0: SUBLEQ(list[1], x, 0)",
        "Instr. 1: SUBLEQ(zero, zero, 0)",
        "Instr. 2: SUBLEQ(zero, minus_one, 2)",
    ]
    assert source.notation().splitlines() == lines
