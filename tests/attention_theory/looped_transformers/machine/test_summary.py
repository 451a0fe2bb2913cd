from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.rows import Rows, combine, moves


def test_counts_by_hand() -> None:
    rows = Rows(data=2, code=1)
    first, second = Layer(rows, "one"), Layer(rows, "two")
    first.head("look", combine(rows["code"]), combine(rows["code"]), moves(rows["data"], rows["data"]))
    second.clear(rows["code"])
    found = summarise(LoopedTransformer(rows, [first, second]))
    assert (found.layers, found.heads, found.width, found.hidden) == (2, 1, 3, 2)
    assert [size.parameters for size in found.by_layer] == [3 + 3 + 9 + 3, 2 * 3 + 2 + 3 * 2 + 3]
    assert [size.nonzeros for size in found.by_layer] == [4, 4]
    columns, table = found.table()
    assert len(table) == 3
    assert all(len(line) == len(columns) for line in table)
