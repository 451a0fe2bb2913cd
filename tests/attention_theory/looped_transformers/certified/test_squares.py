import pytest
import torch

from attention_theory.looped_transformers.blocks.relu_square import ReluNetwork, looped_product
from attention_theory.looped_transformers.certified import squares
from attention_theory.looped_transformers.certified.squares import ask_square


def test_a_weight_of_a_network_that_is_wrong_in_its_last_bit_is_noticed() -> None:
    network = ReluNetwork.deep_square(2)
    assert ask_square(network, 1 / 128).outcome == "proved"
    for number, (weight, bias) in enumerate(network.layers):
        for matrix, place in ((weight, (0, 0)), (bias, (0,))):
            if number < 2 and matrix[place] == 0:
                continue
            before = matrix[place].clone()
            outcomes = []
            for to in (-99.0, 99.0):
                matrix[place] = torch.nextafter(before, torch.tensor(to, dtype=matrix.dtype))
                outcomes.append(ask_square(network, 1 / 128).outcome)
            matrix[place] = before
            assert "refuted" in outcomes, (number, place)


def test_a_last_bit_of_the_looped_product_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = looped_product()
    monkeypatch.setattr(squares, "looped_product", lambda: layer)
    assert squares.certify_looped_product().settled
    for matrix in (layer.dense.w1, layer.dense.w2):
        for place in torch.nonzero(matrix).tolist()[::3]:
            before = matrix[tuple(place)].clone()
            matrix[tuple(place)] = torch.nextafter(before, before + 1)
            assert not squares.certify_looped_product().settled, place
            matrix[tuple(place)] = before
