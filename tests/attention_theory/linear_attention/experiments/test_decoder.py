import pytest
import torch

from attention_theory.linear_attention.experiments.decoder import Decoder, DecoderSize
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError

SIZE = DecoderSize(vocabulary=7, width=16, heads=2, layers=2)


def test_it_looks_back_only() -> None:
    model = Decoder(SIZE, seed=0)
    tokens = torch.randint(7, (2, 9), generator=generator(1))
    changed = tokens.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % 7
    first, second = model(tokens, 9), model(changed, 9)
    torch.testing.assert_close(first[:, :6], second[:, :6])
    assert (first - second)[:, 6:].abs().max() > 0.01


def test_fewer_outputs_are_the_last_ones() -> None:
    model = Decoder(SIZE, seed=0)
    tokens = torch.randint(7, (2, 9), generator=generator(1))
    torch.testing.assert_close(model(tokens, 4), model(tokens, 9)[:, -4:])


def test_places_are_relative() -> None:
    model = Decoder(DecoderSize(7, 16, 2, 1), seed=0)
    tokens = torch.tensor([[3, 3, 3, 5]])
    torch.testing.assert_close(model(tokens, 4)[:, 0], model(tokens, 4)[:, 1])
    assert (model(tokens, 4)[:, 0] - model(tokens, 4)[:, 3]).abs().max() > 0.01


def test_the_weights_are_counted() -> None:
    model = Decoder(SIZE, seed=0)
    counted = sum(one.numel() for name in ("attend", "mix", "expand", "contract") for one in getattr(model, name))
    assert SIZE.weights == counted


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="width"):
        DecoderSize(7, 15, 2, 1)
