import pytest
import torch

from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.vision import colour_value, count_at_offsets, pattern_score, pixel_tokens
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError

OFFSETS = [(0, 0), (1, 0), (-1, 0), (0, 2)]


def test_layer_and_shifts_and_loop_agree() -> None:
    images = torch.randint(2, (6, 5, 4), generator=generator(0)).double()
    layer = linear_attention(pixel_tokens(images), pattern_score(5, 4, OFFSETS), colour_value(20))
    counted = count_at_offsets(images, OFFSETS)
    assert torch.equal(layer.reshape(6, 5, 4), counted)
    for image, count in zip(images, counted, strict=True):
        for row in range(5):
            for column in range(4):
                inside = [(row + down, column + right) for down, right in OFFSETS]
                expected = sum(image[r, c].item() for r, c in inside if 0 <= r < 5 and 0 <= c < 4)
                assert count[row, column] == expected


def test_an_offset_given_twice_is_refused() -> None:
    with pytest.raises(ParameterError, match="distinct"):
        pattern_score(4, 4, [(0, 0), (0, 0)])
    with pytest.raises(ParameterError, match="offsets"):
        count_at_offsets(torch.ones(4, 4, dtype=torch.float64), [])
