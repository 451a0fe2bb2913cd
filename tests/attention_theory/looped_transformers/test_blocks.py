import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attention_theory.looped_transformers.blocks import FunctionBlock, run_block
from attention_theory.looped_transformers.product_block import Product, ProductBlock, product_error, softmax_entry
from attention_theory.looped_transformers.sigmoid_block import RowSigmoidBlock, SigmoidSum, SigmoidSumBlock, sharp_steps
from attention_theory.looped_transformers.sum_block import SumBlock
from attention_theory.looped_transformers.transpose_block import TransposeBlock, transpose_vectorised
from attention_theory.validation import ParameterError


def operands(size: int, seed: int = 0, batch: int = 3) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    a, b = torch.randn(2, batch, size, size, generator=draw, dtype=torch.float64)
    return a, b


EXACT: list[FunctionBlock] = [SumBlock("add"), SumBlock("sub"), TransposeBlock(), RowSigmoidBlock()]


@pytest.mark.parametrize("block", EXACT, ids=lambda block: block.name)
@given(size=st.integers(3, 8), seed=st.integers(0, 10**6), spare=st.integers(0, 9))
@settings(max_examples=10, deadline=None)
def test_a_block_equals_its_reference(block: FunctionBlock, size: int, seed: int, spare: int) -> None:
    a, b = operands(size, seed)
    expected = torch.stack([block.reference(*pair) for pair in zip(a, b, strict=True)])
    assert (run_block(block, a, b, spare=spare).result - expected).abs().max() < 2e-12


def test_a_row_sigmoid_needs_the_true_number_of_columns() -> None:
    a, b = operands(4)
    wrong = run_block(RowSigmoidBlock(), a, b, columns=12).result
    assert (wrong[:, 0] - a[:, 0].sigmoid()).abs().max() > 1e-2


@pytest.mark.parametrize("product", ["ab", "ba", "bb", "aa"])
def test_products_follow_their_error_law(product: Product) -> None:
    a, b = operands(4)
    block = ProductBlock(product=product, slope=1e-4)
    exact = block.reference(a, b)
    error = run_block(block, a, b).result - exact
    assert (error - product_error(exact, 1e-4, 40.0)).abs().max() < 1e-2 * error.abs().max()


def test_two_heads_take_the_square_away() -> None:
    a, b = operands(4)
    errors = [
        (run_block(block, a, b).result - block.reference(a, b)).abs().max()
        for block in (ProductBlock(slope=1e-3), ProductBlock(slope=1e-3, two_sided=True))
    ]
    assert errors[1] < 1e-2 * errors[0]


def test_keeping_the_wrong_rows_gives_another_product() -> None:
    a, b = operands(4)
    assert (run_block(ProductBlock(product="ba", kept="b"), a, b).result - b.mT @ a).abs().max() < 1e-4
    assert (run_block(ProductBlock(product="ba", kept="a"), a, b).result - a.mT @ a).abs().max() < 1e-4


def test_the_softmax_entry_in_its_three_forms() -> None:
    scores = 1e-3 * torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    direct, factored, printed = (softmax_entry(scores, 20.0, form) for form in ("direct", "factored", "printed"))
    assert torch.allclose(direct, factored, rtol=0, atol=1e-14)
    assert torch.allclose(printed, torch.full_like(printed, 1 / 9), atol=1e-3)


def test_the_printed_transpose_keeps_what_it_overwrites() -> None:
    a, b = operands(4)
    assert (run_block(TransposeBlock("printed"), a, b).result - a - a.mT).abs().max() < 1e-11
    with pytest.raises(ParameterError, match="size"):
        run_block(TransposeBlock(), a[:, :2, :2], b[:, :2, :2])


def test_a_vectorised_matrix_is_transposed_in_one_layer() -> None:
    a, _ = operands(7, batch=2)
    moved, machine = transpose_vectorised(a)
    assert (moved - a.mT).abs().max() < 1e-13
    assert machine.rows.size == 2 * 6 + 2
    same_row, _ = transpose_vectorised(a, spare_row=False)
    assert (same_row - a - a.mT).abs().max() < 1e-13


def test_a_sum_of_sigmoids_block_equals_the_sum() -> None:
    steps = sharp_steps(torch.tensor([0.5, 1.0, 3.0]), torch.tensor([1.0, -2.0, 0.5]), 8.0)
    function = SigmoidSum(*(part.double() for part in (steps.slopes, steps.shifts, steps.heights)))
    a = torch.zeros(20, 4, 4, dtype=torch.float64)
    a[:, 0, 0] = torch.linspace(-1, 4, 20, dtype=torch.float64)
    result = run_block(SigmoidSumBlock("f", function), a, a, spare=3).result
    slow = sum(
        height * (slope * a[:, 0, 0] + shift).sigmoid()
        for slope, shift, height in zip(function.slopes, function.shifts, function.heights, strict=True)
    )
    assert (result[:, 0, 0] - slow).abs().max() < 1e-13
    assert function.terms == 3


def test_sharp_steps_rise_at_their_knots() -> None:
    function = sharp_steps(torch.tensor([1.0, 2.0]).double(), torch.tensor([1.0, 1.0]).double(), 200.0)
    assert torch.allclose(function(torch.tensor([0.5, 1.5, 3.0]).double()), torch.tensor([0.0, 1.0, 2.0]).double())
