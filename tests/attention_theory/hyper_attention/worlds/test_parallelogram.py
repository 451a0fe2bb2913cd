import torch

from attention_theory.hyper_attention.worlds.parallelogram import linear_stack, parallelogram_defect, random_layers

CORNERS = torch.tensor([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]], dtype=torch.float64)


def test_stack_is_the_loop_over_heads() -> None:
    layers = random_layers(2, 3, 4, seed=0)
    x = CORNERS
    for score, value in layers:
        x = x + sum(x @ c @ x.T @ x @ w for c, w in zip(score, value, strict=True))
    torch.testing.assert_close(linear_stack(CORNERS, layers, skip=True), x, rtol=0, atol=1e-12)


def test_a_product_breaks_it() -> None:
    product = torch.tensor([[0.0], [0.0], [0.0], [1.0]], dtype=torch.float64)
    assert parallelogram_defect(product, [0, 1, 2, 3]) == 1.0
