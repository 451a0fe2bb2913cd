from attention_theory.looped_transformers.subleq.assembler import assemble
from attention_theory.looped_transformers.subleq.language import program
from attention_theory.looped_transformers.subleq.notation import cell_names, notation


def test_operands_stand_in_the_order_of_algorithm_1() -> None:
    source = assemble("x = 3\nlist = 1 2\nloop: x -= list[1] if <= 0 goto loop\ngoto loop\nhalt")
    lines = [
        "Instr. 0: SUBLEQ(list[1], x, 0)",
        "Instr. 1: SUBLEQ(zero, zero, 0)",
        "Instr. 2: SUBLEQ(zero, minus_one, 2)",
    ]
    assert notation(source).splitlines() == lines


def test_cells_without_a_name_go_by_their_number() -> None:
    source = program([5], [(2, 2, 1)])
    assert cell_names(source) == {0: "0", 1: "1", 2: "2"}
    assert notation(source, {0: "c0", 1: "c-1", 2: "r"}).splitlines()[0] == "Instr. 0: SUBLEQ(r, r, 1)"
