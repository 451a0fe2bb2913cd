import pytest
import torch

from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum, SigmoidSumBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.fleq._one_head import rows_to_copy
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram, interpret
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare, standard_blocks
from attention_theory.looped_transformers.programs.backpropagation import SigmoidNetwork
from attention_theory.looped_transformers.programs.backpropagation_program import machine_program
from attention_theory.looped_transformers.programs.newton import newton_program
from attention_theory.looped_transformers.programs.power_iteration import power_program
from attention_theory.looped_transformers.programs.regression import unrolled_program
from attention_theory.randomness import generator, normal

DRAW = generator(0)
MATRIX = torch.eye(4, dtype=torch.float64) + normal(4, 4, seed=DRAW) / 6
X, Y = normal(2, 4, seed=DRAW), normal(2, seed=DRAW)
PROGRAMS = {
    "Lemma 7": newton_program(MATRIX, 3),
    "Lemma 8": power_program(MATRIX + MATRIX.mT, 4),
    "Lemma 23": unrolled_program(torch.zeros(4, dtype=torch.float64), X, Y, 0.1, 2),
    "Lemma 9": machine_program(SigmoidNetwork.random(4, 4, 1), X[:1], Y[:1], 0.2, 1),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_one_head_runs_the_programs_on_matrices(program: FleqProgram) -> None:
    reference = interpret(program)
    cycles = len(reference.counters) + 2
    one, several = FleqMachine(program), FleqMachine(program, heads="several")
    result, plain = (compare(machine.run(program, cycles), reference) for machine in (one, several))
    assert result.counters_agree
    assert plain.counters_agree
    assert result.deviation < 1.5 * plain.deviation + 1e-9 < 1e-4
    assert [len(layer.heads) for layer in one.transformer.layers] == [1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0]
    assert max(len(layer.heads) for layer in several.transformer.layers) >= 6


def test_merged_without_the_selection_the_blocks_disturb_one_another() -> None:
    program = PROGRAMS["Lemma 7"]
    reference = interpret(program)
    result = compare(FleqMachine(program, selected=False).run(program, len(reference.counters)), reference)
    assert not result.counters_agree or result.deviation > 1e-2


def test_copies_are_of_what_queries_values_and_shifts_read() -> None:
    blocks = [SumBlock("add", 1), ProductBlock()]
    layout = FleqLayout(3, 5, 2, blocks, 30.0, heads="several")
    rows = layout.rows
    assert rows_to_copy(blocks[0], rows, layout.setting) == list(rows["in out"])
    product = {*rows["in out"], *rows["mul ones"], *rows["mul identity"]}
    assert rows_to_copy(blocks[1], rows, layout.setting) == sorted(product)
    assert layout.copies == {}


def test_a_layer_has_as_many_heads_as_its_widest_block() -> None:
    slopes = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    curve = SigmoidSumBlock("root", SigmoidSum(slopes, slopes, slopes.abs()))
    program = assemble("t = root(p)\ns = mul(t, p)\nhalt", {"p": 0.7, "t": 0.0, "s": 0.0}, size=3)
    machine = FleqMachine(program, [*standard_blocks(program), curve, SumBlock("add", 2)])
    assert [len(layer.heads) for layer in machine.transformer.layers] == [1, 1, 0, 3, 1, 0, 1, 1, 0, 0, 0]
    run = machine.run(program)
    value = curve.function(torch.tensor(0.7, dtype=torch.float64))
    assert run.memories[0][program.addresses["t"], 0].item() == pytest.approx(value.item(), abs=1e-9)
    assert run.memories[1][program.addresses["s"], 0].item() == pytest.approx(0.7 * value.item(), abs=1e-6)
