import pytest
import torch

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.product import (
    ProductBlock,
    _Product,
    divided_entry,
    product_error,
    softmax_entry,
)
from attention_theory.randomness import normal


@pytest.mark.parametrize("product", ["ab", "ba", "bb", "aa"])
def test_products_follow_their_error_law(product: _Product) -> None:
    a, b = normal(2, 3, 4, 4, seed=0)
    block = ProductBlock(product=product, slope=1e-4)
    exact = block.reference(a, b)
    error = run_block(block, a, b).result - exact
    assert (error - product_error(exact, 1e-4, 40.0)).abs().max() < 1e-2 * error.abs().max()


def test_two_heads_take_the_square_away() -> None:
    a, b = normal(2, 3, 4, 4, seed=0)
    errors = [
        (run_block(block, a, b).result - block.reference(a, b)).abs().max()
        for block in (ProductBlock(slope=1e-3), ProductBlock(slope=1e-3, two_sided=True))
    ]
    assert errors[1] < 1e-2 * errors[0]


def test_the_softmax_entry_and_its_quotient() -> None:
    scores = 1e-3 * normal(8, seed=3)
    printed = divided_entry(scores, 20.0, "printed")
    assert torch.allclose(softmax_entry(scores, 20.0), divided_entry(scores, 20.0), rtol=0, atol=1e-14)
    assert torch.allclose(printed, torch.full_like(printed, 1 / 9), atol=1e-3)
