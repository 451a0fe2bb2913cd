import pytest

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.transpose import (
    TransposeBlock,
    transpose_in_groups,
    transpose_vectorised,
)
from attention_theory.randomness import normal
from attention_theory.validation import ParameterError


def test_the_printed_transpose_keeps_what_it_overwrites() -> None:
    a, b = normal(2, 3, 4, 4, seed=0)
    assert (run_block(TransposeBlock("printed"), a, b).result - a - a.mT).abs().max() < 1e-11
    with pytest.raises(ParameterError, match="setting"):
        run_block(TransposeBlock(), a[:, :2, :2], b[:, :2, :2])


def test_a_vectorised_matrix_is_transposed_in_one_layer() -> None:
    a = normal(2, 7, 7, seed=0)
    moved, machine = transpose_vectorised(a)
    assert (moved - a.mT).abs().max() < 1e-13
    assert machine.rows.size == 2 * 6 + 2
    same_row, _ = transpose_vectorised(a, form="printed")
    assert (same_row - a - a.mT).abs().max() < 1e-13
    narrow, machine = transpose_vectorised(a, spare_row=False)
    assert (narrow - a.mT).abs().max() < 1e-7
    assert machine.rows.size == 2 * 6 + 1


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
def test_the_lemma_s_input_takes_the_lemma_s_rows(size: int) -> None:
    a = normal(size, size, seed=0)
    groups, machine = transpose_in_groups(a)
    assert (groups - a.mT[:, None]).abs().max() < 1e-12
    assert machine.rows.size == 2 * size + 2 * max(1, (size - 1).bit_length())
    assert len(machine.layers) == 3
    printed, _ = transpose_in_groups(a, form="printed")
    assert (printed - (a + a.mT)[:, None]).abs().max() < 1e-11
