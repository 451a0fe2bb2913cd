import pytest
import torch

from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.sigmoid import RowSigmoidBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.blocks.transpose import TransposeBlock
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram, interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError

NAMES = ("x", "y", "z")
ALL_BLOCKS = [SumBlock("add", 1), SumBlock("sub", 1), ProductBlock(), TransposeBlock(), RowSigmoidBlock()]


def sample(seed: int, functions: tuple[str, ...]) -> FleqProgram:
    """A random program without loops that would grow its data."""
    draw = generator(seed)

    def pick(count: int) -> int:
        return int(torch.randint(count, (1,), generator=draw))

    lines = []
    for place in range(6):
        name = functions[pick(len(functions))]
        first, second, into = (NAMES[pick(3)] for _ in range(3))
        jump = f" if t <= 0 goto l{pick(7)}" if pick(2) else ""
        lines.append(f"l{place}: {into} = {name}({first}, {second}) width {1 + pick(4)}{jump}")
    lines += ["l6: t = add(t, one)", "if t <= 0 goto l0", "halt"]
    values = normal(3, 4, 4, seed=draw) / 4
    return assemble("\n".join(lines), {**dict(zip(NAMES, values, strict=True)), "t": -1.0}, size=4)


@pytest.mark.parametrize("functions", [("add", "sub", "transpose"), ("add", "mul", "rowsigmoid")])
def test_a_run_is_the_cycles_of_the_dense_matrices(functions: tuple[str, ...]) -> None:
    """What a run leaves out is nothing: counters are equal, memory up to rounding, which a product magnifies."""
    programs = [sample(seed, functions) for seed in range(3)]
    machine = FleqMachine(programs[0], ALL_BLOCKS)
    for program, together in zip(programs, machine.run_many(programs, 10), strict=True):
        state, run = machine.layout.pack(program), machine.run(program, 10)
        assert run.counters == together.counters
        for counter, memory, beside in zip(run.counters, run.memories, together.memories, strict=True):
            state = machine.cycle(state)
            literal = machine.layout.memory(state)
            if literal.abs().max() > 20:
                break
            assert machine.layout.counter(state) == counter
            assert (literal - memory).abs().max() < 1e-6
            assert (literal - beside).abs().max() < 1e-6


def test_numbers_that_overflow_go_by_the_dense_matrices() -> None:
    program = assemble("again: x = add(x, x) width 2\nif zero <= 0 goto again\nhalt", {"x": 1e99, "zero": 0.0}, 2)
    machine = FleqMachine(program)
    run, state = machine.run(program, 12), machine.layout.pack(program)
    for counter, memory in zip(run.counters, run.memories, strict=True):
        state = machine.cycle(state)
        assert machine.layout.counter(state) == counter
        literal = machine.layout.memory(state)
        assert torch.equal(torch.isfinite(literal), torch.isfinite(memory))
        largest = literal.nan_to_num(0.0, 0.0, 0.0).abs().max().clamp(min=1e-300)
        assert ((literal - memory) / largest).nan_to_num(0.0, 0.0, 0.0).abs().max() < 1e-12


def test_layers_are_nine_and_the_deepest_block() -> None:
    program = sample(0, ("add", "sub"))
    machine = FleqMachine(program)
    assert len(machine.transformer.layers) == 9 + machine.block_depth == 11  # a difference by one head takes two
    assert len(FleqMachine(program, heads="several").transformer.layers) == 10
    assert machine.layout.rows.size == machine.layout.pack(program).shape[1]


@pytest.mark.parametrize("place", ["pointers", "first mask", "write sign", None])
def test_a_printed_step_or_an_instruction_that_stays_is_noticed(place: str | None) -> None:
    program = sample(5, ("add", "sub", "transpose"))
    reference = interpret(program, 8)
    machine = FleqMachine(program, form={place: "printed"}) if place else FleqMachine(program, cleared=False)
    result = compare(machine.run(program, len(reference.counters)), reference)
    assert not result.counters_agree or result.deviation > 1e-3


def test_the_printed_target_of_the_write_does_no_harm() -> None:
    program = sample(5, ("add", "sub", "transpose"))
    result = compare(FleqMachine(program, form={"write rows": "printed"}).run(program, 8), interpret(program, 8))
    assert result.counters_agree
    assert result.deviation < 1e-11


def test_bad_parameters_are_refused() -> None:
    program = sample(0, ("add",))
    with pytest.raises(ParameterError, match="none"):
        FleqMachine(program, form={"none": "printed"})
    with pytest.raises(ParameterError, match="memory"):
        FleqMachine(program).layout.pack(assemble("halt", {}, size=4))
    moves = assemble("a: one = add(one, one)\nadvance a.a\nhalt", {}, size=4)
    with pytest.raises(ParameterError, match="instruction 1 moves a pointer"):
        FleqMachine(moves, pointers=False).layout.pack(moves)
    unknown = assemble("one = inverse(one)\nhalt", {}, size=4)
    with pytest.raises(ParameterError, match=r"functions that have a block, .*'inverse'"):
        FleqMachine(unknown).layout.pack(unknown)


def test_a_run_that_leaves_the_path_is_compared_up_to_there() -> None:
    program = assemble("t = add(t, one) if t <= 0 goto end\nt = add(t, one)\nend: halt", {"t": 0.0}, size=4)
    other = assemble("t = add(t, one) if t <= 0 goto end\nt = add(t, one)\nend: halt", {"t": -5.0}, size=4)
    result = compare(interpret(other), interpret(program))
    assert (result.counters_agree, result.first_departure) == (False, 1)
