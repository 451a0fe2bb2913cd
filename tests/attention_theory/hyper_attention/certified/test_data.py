import pytest
import torch

from attention_theory.hyper_attention.certified import data
from attention_theory.hyper_attention.certified.data import certify_unseen_direction


@pytest.mark.parametrize(("size", "length"), [(4, 2), (4, 3), (5, 3)])
def test_sequences_without_repeats_miss_one_direction(size: int, length: int) -> None:
    certificate = certify_unseen_direction(size, length)
    assert certificate.settled
    assert f"rank {size}" in certificate.control.observed


def test_a_wrong_direction_or_count_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    vector, matrix = data.unique_null_vector, data.data_matrix

    def last_bit(number: torch.Tensor) -> torch.Tensor:
        return torch.nextafter(number, torch.tensor(9.0, dtype=number.dtype))

    def wrong_vector(symbol: int, size: int, length: int) -> torch.Tensor:
        exact = vector(symbol, size, length)
        exact[symbol - 1] = last_bit(exact[symbol - 1])
        return exact

    def wrong_matrix(symbols: torch.Tensor, symbol: int, size: int) -> torch.Tensor:
        exact = matrix(symbols, symbol, size)
        exact[1, symbol] = last_bit(exact[1, symbol])
        return exact

    monkeypatch.setattr(data, "unique_null_vector", wrong_vector)
    assert certify_unseen_direction(4, 3).outcome == "refuted"
    monkeypatch.setattr(data, "unique_null_vector", vector)
    monkeypatch.setattr(data, "data_matrix", wrong_matrix)
    assert certify_unseen_direction(4, 3).outcome == "refuted"
