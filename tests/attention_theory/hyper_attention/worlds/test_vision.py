import torch

from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.vision import (
    convolve,
    count_at_offsets,
    fit_kernel,
    pattern_score,
    pixel_tokens,
)
from attention_theory.randomness import generator, normal

OFFSETS = [(0, 0), (1, 0), (-1, 0), (0, 2)]


def test_layer_and_shifts_and_loop_agree() -> None:
    images = torch.randint(2, (6, 5, 4), generator=generator(0)).double()
    layer = linear_attention(pixel_tokens(images), pattern_score(5, 4, OFFSETS), torch.eye(21, 1, dtype=torch.float64))
    counted = count_at_offsets(images, OFFSETS)
    assert torch.equal(layer.reshape(6, 5, 4), counted)
    for image, count in zip(images, counted, strict=True):
        for row in range(5):
            for column in range(4):
                inside = [(row + down, column + right) for down, right in OFFSETS]
                expected = sum(image[r, c].item() for r, c in inside if 0 <= r < 5 and 0 <= c < 4)
                assert count[row, column] == expected


def test_a_convolution_is_the_weighted_sum_around_each_pixel() -> None:
    images, kernel = normal(2, 4, 5, seed=0), normal(3, 3, seed=1)
    ours = convolve(images, kernel)
    margin = torch.nn.functional.pad(images, (1, 1, 1, 1))
    for row in range(4):
        for column in range(5):
            around = margin[:, row : row + 3, column : column + 3]
            torch.testing.assert_close(ours[:, row, column], (around * kernel).sum(dim=(1, 2)))
    torch.testing.assert_close(convolve(margin, kernel, padded=True), ours)


def test_the_fitted_kernel_is_the_one_that_made_the_counts() -> None:
    images, kernel = normal(20, 6, 6, seed=0), normal(3, 3, seed=1)
    found, bias = fit_kernel(images, convolve(images, kernel) + 2, 1)
    torch.testing.assert_close(found, kernel)
    torch.testing.assert_close(bias, torch.tensor(2.0, dtype=torch.float64))
