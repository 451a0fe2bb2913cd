import pytest
import torch

from attention_theory.hyper_attention.interactions.connected import all_sequences, pair_features
from attention_theory.numerics import modular_rank, numerical_rank


@pytest.mark.parametrize(("length", "size"), [(2, 2), (3, 2), (4, 3), (3, 4)])
def test_ranks_follow_the_formula(length: int, size: int) -> None:
    symbols = all_sequences(length, size)
    unshared = [pair_features(symbols, size, token, shared=False) for token in range(length)]
    assert sum(modular_rank(features.long()) for features in unshared) == length * size * (
        1 + (length - 1) * (size - 1)
    )
    assert int(numerical_rank(pair_features(symbols, size, 0, shared=True))) == size**2


def test_pair_features_are_products_of_one_hots() -> None:
    symbols = torch.tensor([[1, 0, 1]])
    features = pair_features(symbols, 2, token=0, shared=False).reshape(3, 2, 2)
    assert features[:, 1].tolist() == [[0, 1], [1, 0], [0, 1]]
    assert features[:, 0].sum() == 0
    assert torch.equal(pair_features(symbols, 2, 0, shared=True), features.sum(0).flatten()[None])
